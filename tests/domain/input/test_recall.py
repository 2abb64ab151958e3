"""Walking through past inputs."""

from quintet.domain.input.recall import Recall


def test_older_and_newer_and_back_to_the_draft() -> None:
    recall = Recall(["a", "b"])
    assert [recall.older("draft"), recall.older("b"), recall.older("a")] == ["b", "a", None]
    assert [recall.newer(), recall.newer(), recall.newer()] == ["b", "draft", None]


def test_a_new_input_begins_the_walk_anew_and_is_not_doubled() -> None:
    recall = Recall(["a"])
    recall.older("x")
    recall.add("b")
    recall.add("b")
    assert recall.past == ["a", "b"]
    assert recall.older("") == "b"


def test_what_was_typed_before_the_past_was_read_stays_the_newest() -> None:
    recall = Recall()
    recall.add("now")
    recall.fill(["old", "older"])
    assert recall.past == ["old", "older", "now"]
    assert Recall().older("draft") is None
