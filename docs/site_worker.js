// A worker for pages that are opened from disk, where browsers start none: its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const waiting = [];
      let inside = null;
      this.postMessage = (data) => {
        if (inside) inside.dispatchEvent(new MessageEvent("message", { data }));
        else waiting.push(data);
      };
      this.terminate = () => frame.remove();
      frame.addEventListener("load", () => {
        const place = frame.contentWindow;
        place.postMessage = (data) => {
          const said = new MessageEvent("message", { data });
          this.dispatchEvent(said);
          if (this.onmessage) this.onmessage(said);
        };
        place.importScripts = (...urls) =>
          urls.reduce((before, one) => before.then(() => run(place, one)), Promise.resolve());
        run(place, url).then(() => {
          inside = place;
          waiting.splice(0).forEach((data) => this.postMessage(data));
        });
      }, { once: true });
      frame.srcdoc = "<!doctype html><meta charset=utf-8>";
      document.documentElement.append(frame);
    }
  };
  const run = (place, url) =>
    new Promise((done, failed) => {
      const script = place.document.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      place.document.head.append(script);
    });
}
