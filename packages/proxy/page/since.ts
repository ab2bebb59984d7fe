import { element, setText } from "./dom.js";
import { age, duration } from "./format.js";

/** The proxy's time at the last event, and when that arrived. */
let proxyMs = 0;
let arrivedMs = 0;

export function setNow(nowMs: number): void {
  proxyMs = nowMs;
  arrivedMs = performance.now();
}

/** The proxy's time: ages are right whatever the clock of this machine says. */
export function now(): number {
  return proxyMs + performance.now() - arrivedMs;
}

/** The time since then, which `updateSince` keeps up to date. */
export function since(ms: number, form: "duration" | "age"): HTMLElement {
  const made = element("span", { "data-since": ms, "data-form": form });
  update(made);
  return made;
}

export function updateSince(): void {
  for (const one of document.querySelectorAll<HTMLElement>("[data-since]")) update(one);
}

function update(one: HTMLElement): void {
  const ms = now() - Number(one.dataset["since"]);
  setText(one, one.dataset["form"] === "age" ? age(ms) : duration(ms));
}
