// Stands in for a <style> element: its text is a style sheet that the document adopts, which needs no inline style.
export function sheetElement(document) {
  const sheet = new CSSStyleSheet();
  const element = document.createElement("template");
  Object.defineProperty(element, "textContent", { set: (text) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return element;
}
