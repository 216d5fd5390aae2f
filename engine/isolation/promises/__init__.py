"""What every backend must keep, as small programs that try to break it.

`catalogue` lists the promises, `programs` holds the attempts that run inside, `conformance`
runs them against a backend: in the tests, and on the user's machine as `m4bench sandbox check`.
"""
