// The explorer as a page of its own: requests go to the server that has sent it, with the token of the printed address.
import { render, unpack } from "./explorer.js";

const KEY = "mercer-token";
const query = new URLSearchParams(location.search);
if (query.has("token")) {
  sessionStorage.setItem(KEY, query.get("token"));
  history.replaceState(null, "", "/");
}
const token = sessionStorage.getItem(KEY) || "";

function post(kind, body, type, signal) {
  const headers = { "Content-Type": type, "X-Mercer-Token": token };
  return fetch(`/api/${kind}`, { method: "POST", headers, body, signal, credentials: "same-origin", cache: "no-store" });
}

const link = {
  async ask(kind, body, type = "application/json") {
    const sent = type === "application/json" ? JSON.stringify(body) : body;
    let response;
    try {
      response = await post(kind, sent, type);
    } catch {
      throw Object.assign(new Error("The server does not answer."), { gone: true });
    }
    if (response.ok) return kind === "stop" ? {} : unpack(await response.arrayBuffer());
    const text = await response.text();
    let told = { error: text };
    try {
      told = JSON.parse(text);
    } catch {
      // a refusal is plain text
    }
    throw Object.assign(new Error(told.error || "The request was refused."), told);
  },
  // Lines of JSON that say what is being computed; the end of the stream is the end of the server.
  async watch(tell, ended) {
    try {
      const reader = (await post("alive", "{}", "application/json")).body.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
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
