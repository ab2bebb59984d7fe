import type { LateSection, LateSubscriber } from "../src/management/status/status-view.js";
import { byId, element } from "./dom.js";
import { count, counted, versionText } from "./format.js";
import { since } from "./since.js";
import { Table } from "./table.js";

/** Who is behind, and since when. */
export class LateTable {
  readonly #section = byId("late");
  readonly #more = element("p", { class: "more" });
  readonly #table = new Table<LateSubscriber>(
    ({ topic, address, program }) => `${topic} ${address ?? ""} ${program ?? ""}`,
    [
      {
        name: "Who",
        cell: ({ address, program }) => [
          element("span", { class: "mono" }, address ?? "address not shown from here"),
          element("span", { class: "detail" }, program ?? "stock client"),
        ],
      },
      { name: "Topic", cell: ({ topic }) => [element("span", { class: "mono" }, topic)] },
      { name: "Behind for", class: "nowrap", cell: ({ sinceMs }) => [since(sinceMs, "duration")] },
      {
        name: "Has",
        cell: ({ has, versions }) => [
          element("span", { class: "mono" }, has === undefined ? "nothing known" : versionText(has)),
          element("span", { class: "detail" }, `${counted(versions, "version")} missing`),
        ],
      },
    ],
  );

  constructor() {
    byId("late-body").replaceChildren(this.#table.element, this.#more);
  }

  show({ total, shown }: LateSection): void {
    this.#section.hidden = total === 0;
    const hidden = total - shown.length;
    this.#table.show(
      "Longest first. An address is that of a Pod: kubectl get pods -A -o wide names it.",
      shown,
    );
    this.#more.hidden = hidden <= 0;
    this.#more.textContent = `and ${count(hidden)} more`;
  }
}
