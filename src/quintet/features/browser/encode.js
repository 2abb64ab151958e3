// Turns pictures into a VP8 stream, some at a time. The encoder lives on the page between the calls.
async ({ pictures, width, height, last }) => {
  const state = (window.quintetEncoder ||= { out: [], failed: "" });
  if (!state.encoder) {
    state.canvas = new OffscreenCanvas(width, height);
    state.pen = state.canvas.getContext("2d", { alpha: false });
    state.encoder = new VideoEncoder({
      output: (chunk) => {
        const bytes = new Uint8Array(chunk.byteLength);
        chunk.copyTo(bytes);
        state.out.push({ at: Math.round(chunk.timestamp / 1000), key: chunk.type === "key", bytes });
      },
      error: (error) => (state.failed = String(error)),
    });
    state.encoder.configure({ codec: "vp8", width, height, bitrate: 2_000_000, latencyMode: "quality" });
    state.count = 0;
  }
  for (const { name, at } of pictures) {
    const picture = await createImageBitmap(await (await fetch(`/${name}`)).blob());
    const scale = Math.min(width / picture.width, height / picture.height);
    state.pen.fillStyle = "#222";
    state.pen.fillRect(0, 0, width, height);
    state.pen.drawImage(picture, 0, 0, Math.round(picture.width * scale), Math.round(picture.height * scale));
    picture.close();
    const frame = new VideoFrame(state.canvas, { timestamp: at * 1000 });
    state.encoder.encode(frame, { keyFrame: state.count++ % 50 === 0 });
    frame.close();
  }
  await state.encoder.flush();
  if (last) state.encoder.close();
  if (state.failed) throw new Error(state.failed);
  const base64 = (bytes) => {
    let text = "";
    for (let from = 0; from < bytes.length; from += 0x8000) text += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
    return btoa(text);
  };
  return state.out.splice(0).map(({ at, key, bytes }) => ({ at, key, data: base64(bytes) }));
}
