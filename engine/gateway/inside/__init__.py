"""Programs that are copied into the sandbox; standard library only, no import of the engine."""
