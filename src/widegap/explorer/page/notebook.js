// The page as a widget of a notebook: elements behind a shadow root, so that neither style nor names meet those of the
// notebook or of another widget, and messages through the notebook's own channel.

/** @typedef {import("./host.js").Host} Host */

/**
 * @param {(host: Host) => unknown} openPage begins a page with a state of its own
 * @param {string} markup of the page, our own
 * @param {string} style
 */
export function widget(openPage, markup, style) {
  return {
    render({ model, el }) {
      const gone = new AbortController();
      const frame = document.createElement("div");
      frame.dataset.lmSuppressShortcuts = "true"; // or "d" twice, typed here, deletes the cell in JupyterLab
      for (const type of ["keydown", "keypress", "keyup"]) frame.addEventListener(type, (event) => event.stopPropagation());
      const root = frame.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      root.adoptedStyleSheets = [sheet];
      root.append(...new DOMParser().parseFromString(markup, "text/html").body.childNodes);
      el.append(frame);
      const onEnd = (call) => gone.signal.addEventListener("abort", call);
      openPage({ root, frame, embedded: true, onEnd, channel: messages(model, onEnd), ...scheme(frame, onEnd) });
      return () => gone.abort();
    },
  };
}

/**
 * Requests as messages to the kernel. All views of a widget receive all answers; each knows its own by their number.
 * @returns {import("./host.js").Channel}
 */
function messages(model, onEnd) {
  const view = Math.random().toString(36).slice(2);
  const asked = new Map();
  let count = 0;
  let receive = (news) => news;

  function take(message, buffers) {
    if (message.news) receive(message.news);
    const due = asked.get(message.id);
    if (!due) return;
    asked.delete(message.id);
    if (message.error) due.refuse(Object.assign(new Error(message.error), { changed: message.changed }));
    else due.answer(content(message.kind, buffers[0]));
  }

  function send(request) {
    const id = `${view} ${++count}`;
    return new Promise((answer, refuse) => {
      asked.set(id, { answer, refuse });
      model.send({ id, ...request });
    });
  }

  model.on("msg:custom", take);
  onEnd(() => model.off("msg:custom", take));
  return {
    waits: "Waiting for the kernel …",
    lost: "The kernel was restarted or has ended. Run the cell again; with session= and resume=True your work comes back.",
    get: (name, parameters = {}) => send({ get: name, query: Object.fromEntries(new URLSearchParams({ ...parameters })) }),
    post: (name, body) => send({ post: name, body }),
    listen(call, lost) {
      receive = call;
      const ask = () => send({ get: "news", query: {} }).then(call, lost);
      const doubt = () => {
        lost();
        ask(); // an answer takes it back
      };
      for (const event of ["comm:close", "comm_live_update"]) {
        model.on(event, doubt);
        onEnd(() => model.off(event, doubt));
      }
      ask();
    },
  };
}

/** @param {string} kind @param {DataView} view */
function content(kind, view) {
  if (kind === "application/json") return JSON.parse(new TextDecoder().decode(view));
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength); // aligned, as arrays of numbers need it
}

// Every notebook has its own way to say that it is dark; the colour of the text around the widget says it in all of them.
function scheme(frame, onEnd) {
  const calls = [];
  let was = null;
  const isDark = () => {
    const around = getComputedStyle(frame.parentElement ?? document.body).color.match(/[\d.]+/g) ?? ["0"];
    return around.slice(0, 3).reduce((sum, part) => sum + Number(part), 0) > 3 * 128;
  };
  const look = () => {
    if (isDark() === was) return;
    was = isDark();
    for (const call of calls) call();
  };
  const watch = new MutationObserver(look);
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
  const shown = new ResizeObserver(look); // before the widget is shown, nothing around it has a colour
  shown.observe(frame);
  onEnd(() => {
    watch.disconnect();
    shown.disconnect();
  });
  return { isDark, onScheme: (call) => calls.push(call) };
}
