"""Which pictures an input names."""

import pytest

from quintet.domain.input.image_paths import MOST_IMAGES, image_paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("what is in @shots/a.png?", ["shots/a.png"]),
        ("compare @a.PNG, @b.jpeg and @c.webp.", ["a.PNG", "b.jpeg", "c.webp"]),
        ("rename a.png to b.png", []),
        ("look at @'my shot.png' and @\"other one.gif\"", ["my shot.png", "other one.gif"]),
        (r"/home/ada/my\ shot.png", ["/home/ada/my shot.png"]),
        ("file:///home/ada/a.png", ["/home/ada/a.png"]),
        ("file:///home/ada/my%20shot.png", ["/home/ada/my shot.png"]),
        ("~/Desktop/shot.png", ["~/Desktop/shot.png"]),
        ("~ada/shot.png", []),
        ("'/home/ada/my shot.png' what is it?", ["/home/ada/my shot.png"]),
        ("@a.png @a.png", ["a.png"]),
        ("png files, .png, a.pngx, image/png, a.svg", []),
        ("", []),
    ],
)
def test_pictures_are_known_by_their_names(text: str, paths: list[str]) -> None:
    assert list(image_paths(text)) == paths


def test_no_more_than_a_few_are_taken() -> None:
    assert len(image_paths(" ".join(f"@{n}.png" for n in range(50)))) == MOST_IMAGES
