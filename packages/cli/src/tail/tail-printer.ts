import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import { compareDocuments } from "../diff/compare-documents.js";
import { differenceLines } from "../diff/print-differences.js";
import type { TopicVersion } from "../sync/topic-listener.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { Io } from "../terminal/io.js";
import { plural } from "../terminal/plural.js";

/** Prints what happens to a topic, as lines for people or as one JSON object a line. */
export class TailPrinter {
  readonly #topic: TopicKey;
  readonly #io: Io;
  readonly #isJson: boolean;
  #printed: FlagDocument | undefined;
  /** What was printed last other than a version: each connection begins with the same again. */
  #lastEvent = "";

  constructor(topic: TopicKey, io: Io, isJson: boolean) {
    this.#topic = topic;
    this.#io = io;
    this.#isJson = isJson;
  }

  /** True if the version says something new: after a reconnection, the one that is known comes again. */
  version({ document, resourceVersion, generation, digest }: TopicVersion): boolean {
    const before = this.#printed;
    this.#printed = document;
    const isBack = this.#lastEvent !== "";
    this.#lastEvent = "";
    const flags = Object.keys(document.flags).length;
    const changes = before === undefined ? [] : compareDocuments(before, document);
    if (before !== undefined && changes.length === 0 && !isBack) return false;
    if (this.#isJson) {
      this.#json({ event: "version", resourceVersion, generation, digest, flags, changes });
      return true;
    }
    const names = [
      ...(resourceVersion === undefined ? [] : [`resourceVersion ${printableLine(cut(resourceVersion))}`]),
      ...(generation === undefined ? [] : [`generation ${generation}`]),
      ...(digest === undefined ? [] : [`digest ${digest.slice(0, 8)}`]),
    ];
    this.#head([whatIsNew(flags, before && changes.length), ...names].join(", "));
    for (const line of differenceLines(changes, this.#io.colours)) this.#io.print(line);
    return true;
  }

  missing(): void {
    this.#tell("there is no such FeatureFlag (yet)", { event: "missing" });
  }

  deleted(policy: string): void {
    this.#tell(`the FeatureFlag was deleted; policy of the proxy: ${policy}`, { event: "deleted", policy });
  }

  refused(message: string): void {
    this.#tell(this.#io.colours.red(`refused: ${message}`), { event: "refused", message });
  }

  #tell(text: string, fields: object): void {
    if (text === this.#lastEvent) return;
    this.#lastEvent = text;
    if (this.#isJson) this.#json(fields);
    else this.#head(text);
  }

  #head(text: string): void {
    const { print, colours } = this.#io;
    print(`${colours.dim(new Date().toISOString())} ${colours.bold(this.#topic)} ${text}`);
  }

  #json(fields: object): void {
    this.#io.print(JSON.stringify({ time: new Date().toISOString(), topic: this.#topic, ...fields }));
  }
}

/** @param changed how many flags differ from those before; undefined if there were none */
function whatIsNew(flags: number, changed: number | undefined): string {
  if (changed === undefined) return plural(flags, "flag");
  // It was gone, or could not be had, and is back.
  return changed === 0 ? `${plural(flags, "flag")}, as before` : `${plural(changed, "flag")} changed`;
}
