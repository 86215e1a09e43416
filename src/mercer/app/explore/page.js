// The explorer as a page of its own: requests go to the server that has sent it, with the token of the printed address.
import { render, unpack } from "./explorer.js";

const KEY = "mercer-token";
const given = new URLSearchParams(location.search).get("token");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", "/");
}

function post(kind, body, type = "application/json") {
  const headers = { "Content-Type": type, "X-Mercer-Token": sessionStorage.getItem(KEY) || "" };
  return fetch(`/api/${kind}`, { method: "POST", headers, body, credentials: "same-origin", cache: "no-store" });
}

const link = {
  async ask(kind, body, type) {
    const response = await post(kind, type ? body : JSON.stringify(body), type).catch(() => {
      throw new Error("The server does not answer.");
    });
    if (response.ok) return kind === "stop" ? {} : unpack(await response.arrayBuffer());
    throw Object.assign(new Error(await response.text()), { status: response.status });
  },
  // Lines of JSON that say what is being computed; the end of the stream is the end of the server.
  async watch(tell, ended) {
    try {
      const reader = (await post("alive", "{}")).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = "", part = {}; !part.done; part = await reader.read()) {
        const lines = (rest + (part.value || "")).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) tell(JSON.parse(line));
      }
    } catch {
      // a connection that breaks is an end too
    }
    ended();
  },
};

render({ model: link, el: document.getElementById("explorer") });
