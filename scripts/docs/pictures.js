// Draws the page's Mermaid pictures in the colours that the reader sees, and again when these change.
// Mermaid itself is loaded only where there is one: it is 2.5 MB.
(() => {
  const pictures = [...document.querySelectorAll("pre.mermaid")].map((element) => ({
    element,
    source: element.textContent,
  }));
  if (!pictures.length) return;

  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const { theme } = document.body.dataset; // Furo's button
    return theme === "dark" || (theme !== "light" && system.matches);
  };

  let drawn;
  const draw = async () => {
    const dark = isDark();
    if (dark === drawn) return;
    drawn = dark;
    const { fontFamily, backgroundColor } = getComputedStyle(document.body);
    window.mermaid.initialize({
      startOnLoad: false,
      theme: dark ? "dark" : "neutral",
      fontFamily,
      themeVariables: { edgeLabelBackground: backgroundColor, labelBackgroundColor: backgroundColor },
    });
    for (const { element, source } of pictures) {
      element.textContent = source;
      delete element.dataset.processed;
    }
    await window.mermaid.run({ nodes: pictures.map(({ element }) => element) });
  };
  // One after another: the colours may change while a picture is drawn.
  let queue = Promise.resolve();
  const redraw = () => {
    queue = queue.then(draw);
  };

  const script = document.createElement("script");
  script.src = new URL("mermaid.js", document.currentScript.src).href;
  script.addEventListener("load", () => {
    redraw();
    new MutationObserver(redraw).observe(document.body, { attributeFilter: ["data-theme"] });
    system.addEventListener("change", redraw);
  });
  document.head.append(script);
})();
