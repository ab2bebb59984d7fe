import type { LateSection, LateSubscriber } from "../src/management/status/status-view.js";
import { byId, element } from "./dom.js";
import { count, counted, versionText } from "./format.js";
import { since } from "./since.js";
import { Table } from "./table.js";

/** A subscriber that is behind, and since when; or one that has gone without the newest version. */
export class LateTable {
  readonly #section: HTMLElement;
  readonly #caption: string;
  readonly #more = element("p", { class: "more" });
  readonly #table = new Table<LateSubscriber>(
    ({ topic, address, program, leftMs }) => `${topic} ${address ?? ""} ${program ?? ""} ${leftMs ?? ""}`,
    [
      {
        name: "Who",
        cell: ({ identity, address, program }) => [
          element("span", { class: "mono" }, identity ?? address ?? "address not shown from here"),
          element(
            "span",
            { class: "detail" },
            [...(identity === undefined ? [] : [address ?? ""]), program ?? "stock client"].join(" "),
          ),
        ],
      },
      { name: "Topic", cell: ({ topic }) => [element("span", { class: "mono" }, topic)] },
      {
        name: "Behind for",
        class: "nowrap",
        cell: ({ sinceMs, leftMs }) => [
          since(sinceMs, "duration"),
          ...(leftMs === undefined
            ? []
            : [element("span", { class: "detail" }, "gone for ", since(leftMs, "duration"))]),
        ],
      },
      {
        name: "Has",
        cell: ({ has, versions }) => [
          element("span", { class: "mono" }, has === undefined ? "nothing known" : versionText(has)),
          element("span", { class: "detail" }, `${counted(versions, "version")} missing`),
        ],
      },
    ],
  );

  constructor(id: "late" | "left", caption: string) {
    this.#section = byId(id);
    this.#caption = caption;
    byId(`${id}-body`).replaceChildren(this.#table.element, this.#more);
  }

  show({ total, shown }: LateSection): void {
    this.#section.hidden = total === 0;
    const hidden = total - shown.length;
    this.#table.show(this.#caption, shown);
    this.#more.hidden = hidden <= 0;
    this.#more.textContent = `and ${count(hidden)} more`;
  }
}
