"""However entries travel, the same come to the same; what was changed on the way is noticed."""

from __future__ import annotations

import io
import itertools
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from review_world import A, desk_at, identities, say, whole

from engine.base.errors import BadInput
from engine.reviews import Desk, bundle, ledger
from engine.reviews.chains import chains_of, cut
from engine.reviews.entry import Entry, make
from engine.reviews.place import place_of
from engine.reviews.state import State, state_of


class World(tuple[Entry, ...]):
    __slots__ = ()

    def __repr__(self) -> str:
        return "World()"  # what Hypothesis prints


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = whole(tmp_path_factory.mktemp("world") / "home")
    assert len(made) == SIZE
    return World(made)


SIZE = 10
AT = st.integers(0, SIZE - 1)
SOME = st.lists(AT, unique=True)


@contextmanager
def empty() -> Iterator[Desk]:
    # In memory, where there is such a place: each entry waits for the disk otherwise.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield desk_at(Path(folder) / "home")


def bundle_of(entries: Sequence[Entry], to: Path) -> Path:
    """A bundle as a colleague with only these entries would export it."""
    with empty() as desk:
        place = place_of(desk.home)
        with ledger.locked(place):
            ledger.add(place, entries)
        bundle.export(desk, to)
    return to


def told(state: State) -> list[str]:
    return [problem.what for problem in state.problems]


FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(max_examples=40)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_any_partition_any_order_any_number_of_times(
    world: tuple[Entry, ...], data: st.DataObject
) -> None:
    parts = data.draw(st.lists(SOME, max_size=3))
    left = sorted(set(range(SIZE)) - {at for part in parts for at in part})
    order = data.draw(st.permutations([*parts, left, *parts[:1]]))
    with empty() as desk:
        folder = desk.home.root
        for number, part in enumerate(order):
            bundle.merge(desk, bundle_of([world[at] for at in part], folder / f"{number}.zip"))
        found = ledger.read(place_of(desk.home).ledger)
    assert found.entries == world
    assert state_of(found.entries) == state_of(world)


@pytest.mark.slow
@MANY
@given(data=st.data())
def test_the_order_in_which_entries_are_read_says_nothing(
    world: tuple[Entry, ...], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(AT))
    some = [world[at] for at in drawn]
    turned = [world[at] for at in data.draw(st.permutations(drawn))]
    assert state_of(tuple(some)) == state_of(tuple(turned)) == state_of(tuple(set_of(some)))


def set_of(entries: Sequence[Entry]) -> list[Entry]:
    return list({entry.id: entry for entry in entries}.values())


@pytest.mark.slow
@MANY
@given(data=st.data())
def test_no_part_of_a_ledger_opens_a_review_before_all_have_signed(
    world: tuple[Entry, ...], data: st.DataObject
) -> None:
    some = [world[at] for at in data.draw(SOME)]
    state = state_of(tuple(some))
    for assignment in state.assignments.values():
        for review in assignment.reviews.values():
            assert assignment.committed or review.verdicts is None
    # A hole in a chain is told, and so is an end that somebody here has seen.
    here = {(entry.author, entry.sequence) for entry in some}
    holes = {(author, at) for author, last in here for at in range(1, last)} - here
    counted = state.chains.counted.values()
    cut_off = {
        (author, head.sequence)
        for entry in counted
        for author, head in entry.seen.items()
        if (author, head.sequence) not in here
    }
    if holes or cut_off:
        assert "missing" in told(state)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_a_damaged_bundle_is_refused_whole_or_harmless(
    world: tuple[Entry, ...], data: st.DataObject
) -> None:
    with empty() as desk:
        path = bundle_of(world, desk.home.root / "a.zip")
        raw = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(raw) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "drop"])):
            case "flip":
                raw[at] ^= data.draw(st.integers(1, 255))
            case "cut":
                del raw[at:]
            case "insert":
                raw[at:at] = data.draw(st.binary(min_size=1, max_size=20))
            case _:
                del raw[at : at + data.draw(st.integers(1, 20))]
        path.write_bytes(raw)
        try:
            bundle.merge(desk, path)
        except BadInput:
            assert ledger.read(place_of(desk.home).ledger).entries == ()
        else:
            assert ledger.read(place_of(desk.home).ledger).entries == world


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_a_damaged_ledger_is_told_and_never_says_anything_new(
    world: tuple[Entry, ...], data: st.DataObject
) -> None:
    with empty() as desk:
        place = place_of(desk.home)
        bundle.merge(desk, bundle_of(world, desk.home.root / "a.zip"))
        victim = place.ledger / world[data.draw(AT)].path
        raw = bytearray(victim.read_bytes())
        how = data.draw(st.sampled_from(["flip", "cut", "remove", "rename", "link"]))
        if how == "flip":
            raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
            victim.write_bytes(raw)
        elif how == "cut":
            victim.write_bytes(raw[: data.draw(st.integers(0, len(raw) - 1))])
        elif how == "rename":
            victim.rename(victim.with_name(f"000042{victim.name[6:]}"))
        elif how == "link":
            victim.rename(desk.home.root / "elsewhere")
            victim.symlink_to(desk.home.root / "elsewhere")
        else:
            victim.unlink()
        found = ledger.read(place.ledger)
        assert all(entry in world for entry in found.entries)
        chains = found.chains
        problems = [*found.damaged, *chains.problems, *cut(chains, ledger.heads(place))]
        assert any(problem.serious for problem in problems)
        # A colleague's bundle mends what is missing (what is damaged is taken away by hand).
        if victim.is_symlink() or how in ("flip", "cut"):
            victim.unlink()
        if how == "rename":
            victim.with_name(f"000042{victim.name[6:]}").unlink()
        bundle.merge(desk, desk.home.root / "a.zip")
        assert ledger.read(place.ledger).entries == world


def test_a_fork_is_told_in_every_order(world: tuple[Entry, ...], tmp_path: Path) -> None:
    chain = [entry for entry in world if entry.author == A.author]
    other = make(A, "reveal", {"review": "0" * 64, "key": "x"}, before=chain[0], seen={})
    for order in itertools.islice(itertools.permutations([*world, other]), 5):
        state = state_of(order)
        assert "forked" in told(state)
        assert len(state.chains.chains[A.author]) == 1
    with empty() as desk:  # merged as two bundles too, whichever comes first
        for number, part in enumerate(([*chain[:1], other], world)):
            bundle.merge(desk, bundle_of(part, tmp_path / f"{number}.zip"))
        merged = bundle.merge(desk, tmp_path / "0.zip")
        assert "forked" in [problem.what for problem in merged.problems]


def test_a_cut_end_and_a_restored_backup_are_told(tmp_path: Path) -> None:
    desk = desk_at(tmp_path / "home")
    place = place_of(desk.home)
    identities(place, [A])
    backup = tmp_path / "backup"
    shutil.copytree(place.ledger, backup)
    say(place, A, "reveal", {"review": "0" * 64, "key": "x"})
    whole_ = ledger.read(place.ledger).entries
    shutil.rmtree(place.ledger)
    shutil.copytree(backup, place.ledger)
    chains = ledger.read(place.ledger).chains
    (problem,) = cut(chains, ledger.heads(place))
    assert "cut off" in problem.words
    # Going on from there would fork the chain: refused until it is whole again.
    with pytest.raises(BadInput, match="not whole"):
        say(place, A, "reveal", {"review": "0" * 64, "key": "y"})
    bundle.merge(desk, bundle_of(whole_, tmp_path / "a.zip"))
    assert cut(ledger.read(place.ledger).chains, ledger.heads(place)) == []
    say(place, A, "reveal", {"review": "0" * 64, "key": "y"})


def test_wrong_clocks_are_told_and_change_nothing(tmp_path: Path) -> None:
    place = place_of(desk_at(tmp_path / "home").home)
    identities(place)
    late = "2001-01-01T00:00:00.000Z"
    say(place, A, "reveal", {"review": "0" * 64, "key": "x"}, at=late)
    chains = chains_of(ledger.read(place.ledger).entries)
    words = [problem.words for problem in chains.problems if problem.what == "clock"]
    assert any("before the one that it follows" in each for each in words)
    assert any("one of the two clocks is wrong" in each for each in words)
    assert len(chains.chains[A.author]) == 2


def zipped(to: Path, *files: tuple[str, bytes], mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return to


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/x", "ledger/../../x", "C:\\x", "ledger/x.json", "index.db", "a\0b",
     "texts/" + "0" * 64 + ".txt/../x"],
)  # fmt: skip
def test_paths_that_belong_nowhere_are_refused(tmp_path: Path, name: str) -> None:
    desk = desk_at(tmp_path / "home")
    with pytest.raises(BadInput):
        bundle.merge(desk, zipped(tmp_path / "a.zip", (name, b"x")))
    assert not (tmp_path / "x").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_bombs_links_doubles_and_other_files_are_refused(tmp_path: Path) -> None:
    desk = desk_at(tmp_path / "home")
    text = f"texts/{'0' * 64}.txt"
    bomb = (text, bytes(3 << 20))
    link = (text, b"/etc/passwd")
    hostile = [
        zipped(tmp_path / "bomb.zip", bomb),
        zipped(tmp_path / "link.zip", link, mode=0o120777),
        zipped(tmp_path / "twice.zip", link, link),
        zipped(tmp_path / "bare.zip", link),
        zipped(tmp_path / "deep.zip", ("manifest.json", b"[" * 100_000)),
        zipped(tmp_path / "lie.zip", ("manifest.json", b'{"format":1,"files":{}}'), link),
        zipped(tmp_path / "new.zip", ("manifest.json", b'{"format":9,"files":{}}')),
    ]
    lied = bytearray(hostile[0].read_bytes())  # says that it unpacks to little
    lied[22:26] = (10).to_bytes(4, "little")
    at = lied.rindex(b"PK\x01\x02")
    lied[at + 24 : at + 28] = (10).to_bytes(4, "little")
    (tmp_path / "lies.zip").write_bytes(lied)
    (tmp_path / "none.zip").write_bytes(b"not a zip")
    for path in [*hostile, tmp_path / "lies.zip", tmp_path / "none.zip"]:
        with pytest.raises(BadInput) as refused:
            bundle.merge(desk, path)
        assert refused.value.place
    assert not list(place_of(desk.home).root.rglob("*.txt"))


def test_a_bundle_is_the_same_bytes_for_the_same_ledger(
    world: tuple[Entry, ...], tmp_path: Path
) -> None:
    one = bundle_of(world, tmp_path / "1.zip").read_bytes()
    assert one == bundle_of(world[::-1], tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(one)) as archive:
        assert len(archive.namelist()) == len(world) + 1


def test_a_ledger_on_a_share_is_merged_like_a_bundle(
    world: tuple[Entry, ...], tmp_path: Path
) -> None:
    share = desk_at(tmp_path / "share")
    bundle.merge(share, bundle_of(world, tmp_path / "a.zip"))
    desk = desk_at(tmp_path / "home")
    assert bundle.merge(desk, place_of(share.home).root).entries == len(world)
    assert bundle.merge(desk, place_of(share.home).ledger).entries == 0
