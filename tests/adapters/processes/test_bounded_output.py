"""What a command printed: what of it is kept, and where."""

from pathlib import Path

from quintet.adapters.processes.bounded_output import SHOWN_BYTES, WHOLE_BYTES, Output


def test_the_file_that_keeps_the_whole_is_bounded_and_says_where_it_ends(tmp_path: Path) -> None:
    whole = tmp_path / "outputs/whole.txt"
    output = Output(30_000, whole=str(whole))
    much = bytes(1_000_000)
    for _ in range(WHOLE_BYTES // len(much) + 2):
        output.add(much)
    output.add(b"the end")
    output.close()
    assert whole.stat().st_size == WHOLE_BYTES
    text = output.text()
    assert text.endswith("the end") and len(text) < 31_000
    assert f"the full output is in {whole}, its first {WHOLE_BYTES} bytes" in text


def test_of_much_at_once_the_end_is_shown() -> None:
    shown: list[str] = []
    output = Output(30_000, shown.append)
    output.add(b"y\n" * 30_000)
    output.add(b"the end\n")
    assert shown == ["y\n" * (SHOWN_BYTES // 2), "the end\n"]
