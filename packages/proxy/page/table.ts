import { element, type Child } from "./dom.js";

export interface Column<Row> {
  readonly name: string;
  readonly class?: string;
  readonly cell: (row: Row) => readonly Child[];
}

/**
 * A table whose rows are kept as long as they show the same, so that neither a selection nor the scroll position is lost at every event. Roles
 * are named, because on narrow screens rows are shown as cards, which would take them away.
 */
export class Table<Row> {
  readonly element: HTMLTableElement;
  readonly #caption = element("caption");
  readonly #body = element("tbody", { role: "rowgroup" });
  readonly #columns: readonly Column<Row>[];
  readonly #keyOf: (row: Row) => string;
  #rows = new Map<string, { text: string; made: HTMLTableRowElement }>();

  constructor(keyOf: (row: Row) => string, columns: readonly Column<Row>[]) {
    this.#keyOf = keyOf;
    this.#columns = columns;
    const head = columns.map((column) =>
      element("th", { scope: "col", role: "columnheader", class: column.class ?? "" }, column.name),
    );
    this.element = element(
      "table",
      { role: "table" },
      this.#caption,
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...head)),
      this.#body,
    );
  }

  show(caption: string, rows: readonly Row[]): void {
    if (this.#caption.textContent !== caption) this.#caption.textContent = caption;
    const before = this.#rows;
    this.#rows = new Map();
    rows.forEach((row, index) => {
      const key = `${this.#keyOf(row)} ${this.#rows.has(this.#keyOf(row)) ? index : ""}`;
      const text = JSON.stringify(row);
      const known = before.get(key);
      this.#rows.set(key, known?.text === text ? known : { text, made: this.#make(row) });
    });
    const wanted = [...this.#rows.values()].map(({ made }) => made);
    if (
      wanted.length !== this.#body.childElementCount ||
      wanted.some((one, at) => one !== this.#body.children[at])
    )
      this.#body.replaceChildren(...wanted);
  }

  #make(row: Row): HTMLTableRowElement {
    const cells = this.#columns.map((column, index) =>
      index === 0
        ? element("th", { scope: "row", role: "rowheader", class: column.class ?? "" }, ...column.cell(row))
        : element(
            "td",
            { role: "cell", class: column.class ?? "", "data-label": column.name },
            ...column.cell(row),
          ),
    );
    return element("tr", { role: "row" }, ...cells);
  }
}
