"""A model that gets images which lie in files: conversations and recordings hold only their digests."""

from __future__ import annotations

import binascii
import os
from collections.abc import AsyncIterator
from typing import Any

from msgspec import structs

from quintet.domain.ports.ports import Model
from quintet.domain.turn.messages import Image, KeptImage, Message, Part, Request

GONE = "(an image of {size} bytes, {media_type}, which is no longer saved)"


class ModelWithImages:
    """`folder` holds the files; what a model that cannot see is told of them is a matter of its wire."""

    def __init__(self, model: Model, folder: str) -> None:
        self.name = model.name
        self._model = model
        self._folder = folder
        self._loaded: dict[str, Image | None] = {}  # of the last request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def stream(self, request: Request) -> AsyncIterator[Part]:
        wanted = [image for message in request.messages for image in message.kept]
        if wanted:
            known, self._loaded = self._loaded, {}
            for image in wanted:
                self._loaded[image.digest] = known.get(image.digest) or self._load(image)
            request = structs.replace(request, messages=tuple(map(self._with_images, request.messages)))
        return self._model.stream(request)

    def _with_images(self, message: Message) -> Message:
        if not message.kept:
            return message
        found = [(image, self._loaded[image.digest]) for image in message.kept]
        message = _told(message, [_said(GONE, image) for image, loaded in found if loaded is None])
        return structs.replace(message, images=(*message.images, *(loaded for _, loaded in found if loaded)))

    def _load(self, image: KeptImage) -> Image | None:
        if not image.digest.isalnum():  # the name of a file, and of nothing else
            return None
        try:
            with open(os.path.join(self._folder, image.digest), "rb") as file:
                return Image(image.media_type, binascii.b2a_base64(file.read(), newline=False).decode())
        except OSError:
            return None

    async def close(self) -> None:
        await self._model.close()


def _said(sentence: str, image: KeptImage) -> str:
    return sentence.format(size=image.size, media_type=image.media_type)


def _told(message: Message, sentences: list[str]) -> Message:
    return structs.replace(message, text="\n".join([message.text, *sentences]), kept=())
