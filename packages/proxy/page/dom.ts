/** Everything shown is made here, as text: the names and reasons in it come from others, and none of it is ever read as HTML. */
export type Child = Node | string | number;

export interface Attributes {
  readonly class?: string;
  readonly [name: string]: string | number | boolean | undefined;
}

/** An element with attributes and children; attributes that are false or undefined are left out. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  decorate(made, attributes, children);
  return made;
}

export function svgElement<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  decorate(made, attributes, children);
  return made;
}

/** The element of the page with this id, which is in index.html. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Sets the text if it differs: a live region speaks, and a selection is lost, at every change. */
export function setText(of: Element, text: string): void {
  if (of.textContent !== text) of.textContent = text;
}

/** Replaces the children by these if what they show differs from what was shown by the last call for this element. */
export function show(where: Element, shown: unknown, make: () => readonly Child[]): void {
  const text = JSON.stringify(shown);
  if (shownIn.get(where) === text) return;
  shownIn.set(where, text);
  where.replaceChildren(...make().map(nodeOf));
}
const shownIn = new WeakMap<Element, string>();

function decorate(made: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.map(nodeOf));
}

function nodeOf(child: Child): Node | string {
  return typeof child === "number" ? String(child) : child;
}
