import { statSync, type Stats } from "node:fs";
import type { FileEvent, WatchedDirectory } from "@bunting/files";
import { isYamlName } from "@bunting/files/names";
import { unexpectedFailure } from "@bunting/runtime";
import type { SyncSourceParts } from "./on-demand-source.js";
import { readFailure } from "./read-failure.js";
import type { FileSourceConfig } from "./source-config.js";
import type { SourceState } from "./source-state.js";
import { flagTextReader, type FlagText, type ReadFlagText } from "./flag-text.js";
import { YamlDocumentError } from "./yaml-document.js";

/** The net under fs.watch: how often the file is looked at although no event came. */
const lookEveryMs = 2_000;

/** A source, or a part of one, with what of its state a file tells. */
interface FileSourceParts extends Omit<SyncSourceParts<FileSourceConfig>, "state"> {
  readonly state: Pick<SourceState, "failed" | "refused" | "delivered">;
}

/** A flag document on disk. A file that is missing, empty or unreadable is a state: the last document stays. */
export class FileSource {
  readonly #config: FileSourceConfig;
  readonly #options: FileSourceParts["options"];
  readonly #state: FileSourceParts["state"];
  readonly #read: ReadFlagText;
  #wasSeen = false;

  /** @param heapBytes what reading YAML may take of the heap; what is free, if absent */
  constructor({ config, options, state }: FileSourceParts, heapBytes?: () => number) {
    this.#config = config;
    this.#options = options;
    const limits = { maxJsonBytes: options.maxDocumentBytes, heapBytes };
    this.#read = flagTextReader(limits, options.receiver.memoryOf(config.sourceIndex));
    this.#state = state;
  }

  async run(signal: AbortSignal): Promise<void> {
    // Evaluated here, because most agents have no file to watch.
    const { isNotFound, watchedFile } = await import("@bunting/files");
    const file: WatchedDirectory = watchedFile(this.#config.path, {
      clock: this.#options.context.clock,
      limits: { maxBytes: this.#options.maxDocumentBytes },
      rescanEveryMs: lookEveryMs,
      listener: {
        event: (event) => this.#take(event, signal),
        synced: () => {
          if (!this.#wasSeen) this.#miss();
        },
        lost: (error) => {
          if (isNotFound(error)) this.#miss();
          else this.#fail(error);
        },
        found: () => file.forget(),
        // What can't be watched is looked at all the same.
        directoryError: () => undefined,
      },
    });
    await file.run(signal);
  }

  async #take(event: FileEvent, signal: AbortSignal): Promise<"done" | "retry"> {
    const { path } = this.#config;
    const { maxDocumentBytes } = this.#options;
    this.#wasSeen = true;
    switch (event.kind) {
      case "gone":
        this.#miss();
        return "done";
      case "unreadable":
        this.#fail(event.error);
        return "done";
      case "tooLarge": {
        const sentence = `${path} has ${event.size} bytes, but this agent has memory for documents of ${maxDocumentBytes}: give it more memory, or split the file`;
        this.#state.failed("too_large", sentence);
        return "done";
      }
      case "content":
        if (event.bytes.length > 0) return this.#deliver(event.bytes, signal);
        this.#state.refused(`${path} is empty`, { isLogged: false });
        return "done";
    }
  }

  async #deliver(content: Buffer, signal: AbortSignal): Promise<"done" | "retry"> {
    const { path, sourceIndex } = this.#config;
    let text: FlagText;
    try {
      text = await this.#read(content, isYamlName(path));
    } catch (error) {
      if (!(error instanceof YamlDocumentError)) {
        // What reads YAML is in a file of its own, and there may be no descriptor for it.
        this.#state.failed(...unexpectedFailure(`can't read ${path}`, error));
        return "retry";
      }
      if (error.code === "malformed") {
        this.#state.refused(`${path}: ${error.message}`, { isLogged: false });
        return "done";
      }
      this.#state.failed(error.code, `${path}: ${error.message}`);
      // The heap may be full of garbage, which is collected meanwhile.
      return "retry";
    }
    if (signal.aborted) return "done";
    const result = this.#options.receiver.deliver({ sourceIndex, bytes: text.bytes });
    this.#state.delivered(result);
    if (!("refusal" in result) && text.problem !== undefined)
      this.#state.refused(`${path}: ${text.problem}`, { isLogged: false });
    return "done";
  }

  #miss(): void {
    this.#state.failed("missing", whyNoFile(this.#config.path));
  }

  #fail(error: Error): void {
    this.#state.failed(readFailure(error), `can't read ${this.#config.path}: ${error.message}`);
  }
}

/** A directory instead of a file in it is a frequent mistake. */
function whyNoFile(path: string): string {
  const stats = statsOf(path);
  // A file may be there by now.
  if (stats === undefined || stats.isFile()) return `there is no file ${path}`;
  return stats.isDirectory()
    ? `${path} is a directory: name a file in it, or write dir:${path} for all of them`
    : `${path} is not read, because it is no regular file but a pipe, a socket or a device`;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
