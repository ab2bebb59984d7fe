import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import path from "node:path";
import type { CompiledSourceList } from "@bunting/protocol";
import type { Logger } from "@bunting/runtime";
import { problemOfList, type SourceListOption } from "./source-list.js";

const fileName = "source-list.json";
/** More than any list that is followed takes. */
const maxBytes = 256 * 1024;

/** The list that the agent followed last, beside the copies of its documents, so that it starts with it. */
export class ListFile {
  readonly #directory: string;
  readonly #list: SourceListOption;
  readonly #logger: Pick<Logger, "warn">;

  /** @param directory "" keeps no list */
  constructor(directory: string, list: SourceListOption, logger: Pick<Logger, "warn">) {
    this.#directory = directory;
    this.#list = list;
    this.#logger = logger;
  }

  /** Undefined if there is none of this frame. */
  read(): readonly string[] | undefined {
    if (this.#directory === "") return undefined;
    try {
      const bytes = readFileSync(path.join(this.#directory, fileName));
      if (bytes.length > maxBytes) return undefined;
      const stored = JSON.parse(bytes.toString()) as Partial<CompiledSourceList> | null;
      const { name, frame } = this.#list;
      const isOwn =
        stored?.namespace === name.namespace && stored.text === name.text && stored.frame === frame;
      const topics: unknown = stored?.topics;
      if (!isOwn || !Array.isArray(topics) || !topics.every((topic) => typeof topic === "string"))
        return undefined;
      return problemOfList({ topics }) === undefined ? topics : undefined;
    } catch {
      // There is none, or it can't be read: the proxy tells the list anew.
      return undefined;
    }
  }

  /** A disk error changes nothing but what a restarted agent starts with. */
  async write(topics: readonly string[]): Promise<void> {
    if (this.#directory === "") return;
    const { name, frame } = this.#list;
    const stored: CompiledSourceList = { ...name, frame, topics };
    const file = path.join(this.#directory, fileName);
    try {
      await writeFile(`${file}.tmp`, JSON.stringify(stored), { mode: 0o600 });
      await rename(`${file}.tmp`, file);
    } catch (error) {
      this.#logger.warn(
        { error, file },
        "the list of sources could not be written: a restart begins with the arguments",
      );
    }
  }
}
