import { topicStates, type Overview, type TopicsSection } from "../src/management/status/status-view.js";
import { byId, element, show } from "./dom.js";
import { count, counted } from "./format.js";
import { topicTable } from "./topic-table.js";

/** After the last key, before the proxy is asked. */
const typingMs = 200;
/** How often a search is repeated while it is shown. */
const repeatMs = 2_000;
const rowsPerPage = 50;

/** The topics: those that need a look as they come with the events, or what the viewer searches, which the proxy is asked for. */
export class Topics {
  readonly #table = topicTable();
  readonly #empty = element("div", { class: "empty" });
  readonly #more = element("p", { class: "more" });
  readonly #search = byId("search") as HTMLInputElement;
  readonly #pages = byId("pages");
  #only = "";
  #offset = 0;
  #events: TopicsSection | undefined;
  #topicCount = 0;
  #lastSearchMs = 0;
  #typing: ReturnType<typeof setTimeout> | undefined;
  /** Answers to earlier questions are ignored. */
  #question = 0;

  constructor() {
    byId("topics-body").replaceChildren(this.#table.element, this.#empty, this.#more);
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#offset = 0;
      this.#typing = setTimeout(() => this.#ask(), typingMs);
    });
  }

  /** What came with an event. */
  show(section: TopicsSection): void {
    this.#events = section;
    if (!this.#isAsking) this.#render(section);
  }

  /** Once a second. */
  update(overview: Overview): void {
    this.#topicCount = Object.values(overview.topics).reduce((sum, each) => sum + each, 0);
    this.#showFilters(overview);
    if (this.#isAsking && performance.now() - this.#lastSearchMs > repeatMs) this.#ask();
  }

  get #isAsking(): boolean {
    return this.#text !== "" || this.#only !== "" || this.#offset > 0;
  }

  get #text(): string {
    return this.#search.value.trim();
  }

  #ask(): void {
    this.#question++;
    if (!this.#isAsking) {
      if (this.#events !== undefined) this.#render(this.#events);
      return;
    }
    this.#lastSearchMs = performance.now();
    void this.#fetch(this.#question);
  }

  async #fetch(question: number): Promise<void> {
    const query = new URLSearchParams({ search: this.#text, only: this.#only, offset: String(this.#offset) });
    try {
      const response = await fetch(`${location.pathname}?${query.toString()}`, {
        headers: { accept: "application/json" },
      });
      const found = (await response.json()) as TopicsSection;
      if (question !== this.#question) return;
      // The last of a page may have gone.
      if (found.shown.length === 0 && found.offset > 0) this.#turnTo(0);
      else this.#render(found);
    } catch {
      // The proxy is away, which the header says; the question is asked again when it is back.
    }
  }

  #render({ total, offset, shown }: TopicsSection): void {
    const table = this.#table.element;
    table.hidden = total === 0;
    this.#empty.hidden = total > 0;
    if (total === 0) this.#showEmpty();
    const what =
      this.#text === "" && this.#only === ""
        ? "Those that need a look come first."
        : `${counted(total, "topic matches", "topics match")}.`;
    this.#table.show(what, shown);
    const rest = total - offset - shown.length;
    this.#more.hidden = rest <= 0;
    this.#more.textContent = `and ${count(rest)} more`;
    this.#showPages(total, offset, shown.length);
  }

  #showEmpty(): void {
    const text = this.#text;
    const isAll = text === "" && this.#only === "";
    show(this.#empty, [text, this.#only, this.#topicCount], () => {
      if (isAll)
        return [
          "No topics yet: a topic is a FeatureFlag, namespace/name, with subscribers. Others are not listed.",
        ];
      const clear = element("button", { type: "button" }, "Show all topics");
      clear.addEventListener("click", () => this.#clear());
      const which = this.#only === "" ? "No topic" : `No topic (${this.#only})`;
      const named = text === "" ? "" : ` has “${text}” in its name`;
      return [
        `${which}${named}, of ${count(this.#topicCount)}. A FeatureFlag without subscribers is not listed. `,
        clear,
      ];
    });
  }

  #clear(): void {
    this.#search.value = "";
    this.#only = "";
    this.#offset = 0;
    this.#ask();
    this.#search.focus();
  }

  #turnTo(offset: number): void {
    this.#offset = offset;
    this.#ask();
  }

  #showPages(total: number, offset: number, rows: number): void {
    this.#pages.hidden = total <= rowsPerPage;
    show(this.#pages, [total, offset, rows], () => {
      const button = (text: string, to: number, isPossible: boolean): HTMLElement => {
        const made = element("button", { type: "button", disabled: !isPossible }, text);
        made.addEventListener("click", () => {
          this.#turnTo(to);
          byId("topics-title").focus();
        });
        return made;
      };
      return [
        button("Previous", Math.max(0, offset - rowsPerPage), offset > 0),
        element("span", {}, `${count(offset + 1)}–${count(offset + rows)} of ${count(total)}`),
        button("Next", offset + rowsPerPage, offset + rows < total),
      ];
    });
  }

  #showFilters({ topics, refused, late }: Overview): void {
    const filters: [only: string, text: string][] = [
      ["", `all ${count(this.#topicCount)}`],
      ...topicStates
        .filter((state) => topics[state] > 0 || state === this.#only)
        .map((state): [string, string] => [state, `${state} ${count(topics[state])}`]),
      ...(late > 0 || this.#only === "late" ? ([["late", "behind"]] as [string, string][]) : []),
      ...(refused > 0 || this.#only === "refused"
        ? ([["refused", `refused ${count(refused)}`]] as [string, string][])
        : []),
    ];
    const group = byId("filters");
    const focused = group.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset["only"]
      : undefined;
    show(group, [filters, this.#only], () =>
      filters.map(([only, text]) => {
        const made = element(
          "button",
          { type: "button", "aria-pressed": String(only === this.#only), "data-only": only },
          text,
        );
        made.addEventListener("click", () => {
          this.#only = only;
          this.#offset = 0;
          this.#ask();
          this.#showFilters({ topics, refused, late } as Overview);
        });
        return made;
      }),
    );
    // They were made anew: the focus goes where it was.
    if (focused !== undefined && !group.contains(document.activeElement))
      group.querySelector<HTMLElement>(`[data-only="${focused}"]`)?.focus();
  }
}
