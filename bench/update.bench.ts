import { makeFlagSet } from "./fixtures/flag-set.js";
import type { UpdateHandlers, UpdateSamples } from "./measured/update.child.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { agentSettings, type ImageEntrypoint } from "../scripts/images/image-entrypoint.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { bytesText, digits, percent, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { spread } from "./support/statistics.js";
import { encodeDocument } from "@bunting/protocol";

/** What changes in a document from one update to the next. */
const edits = ["one-flag", "every-flag"] as const;

export const updateCase: BenchCase = {
  name: "update",
  method:
    "The agent's store and evaluator, compiled as the shipped bundle is, are given the bytes of a new document; the time ends when the new flags are served (`FlagStore.replace` and the evaluator behind it have returned). " +
    'Half the flags have targeting, all have metadata. Each update changes one flag, a different one each time; "every flag" changes all, ' +
    'and "first document" is the first one of an empty store. Documents of 1,000 flags are measured under the V8 flags of the image\'s entrypoint, those of 10,000 with a heap of 128 MB.',
  run: runUpdate,
};

async function runUpdate({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const rounds = countParameter(parameters, "rounds", isQuick ? 3 : 51);
  const counts = isQuick ? [100] : [1_000, 10_000];
  const script = await bundle("measured/update.child.ts", "agent");
  const rows: string[][] = [];
  const all: (UpdateSamples & { flags: number; bytes: number; edit: string })[] = [];
  for (const flags of counts) {
    const bytes = Buffer.byteLength(encodeDocument(makeFlagSet(flags).document));
    for (const edit of edits) {
      progress(`${flags} flags (${bytesText(bytes)}), ${edit} changes, ${rounds} times`);
      const { nodeFlags, environment } = flags > 1_000 ? largeHeap() : agentSettings();
      const child = new ChildProcess<UpdateHandlers>({
        name: "update",
        script,
        nodeFlags,
        environment,
        core: cores.measured,
      });
      try {
        const samples = await child.call("measure", { flags, edit, rounds }, 300_000);
        all.push({ ...samples, flags, bytes, edit });
        rows.push(...tableRows({ flags, bytes, edit, nodeFlags, samples }));
      } finally {
        await child.stop();
      }
    }
  }
  const largest = all.find(({ flags, edit }) => flags === 10_000 && edit === "one-flag");
  return {
    setup: [`${rounds} updates of each kind`, cores.description],
    tables: [
      {
        title: "From the bytes of a document to its flags being served",
        columns: [
          "flags",
          "document",
          "what changes",
          "ms: median (min–max)",
          "time waiting for the core",
          "V8 flags",
        ],
        rows,
      },
    ],
    targets:
      largest === undefined
        ? []
        : [
            {
              what: "one change in 10,000 flags: median",
              limit: 60,
              measured: spread(largest.updateMs).median,
              unit: "ms",
            },
          ],
    warnings: [],
    invalid: [],
    samples: all,
  };
}

interface RowInput {
  readonly flags: number;
  readonly bytes: number;
  readonly edit: string;
  readonly nodeFlags: readonly string[];
  readonly samples: UpdateSamples;
}

function tableRows({ flags, bytes, edit, nodeFlags, samples }: RowInput): string[][] {
  const head = [flags.toLocaleString("en"), bytesText(bytes)];
  const flagsText = `\`${nodeFlags.join(" ")}\``;
  const updates = [
    ...head,
    edit === "one-flag" ? "one flag" : "every flag",
    range(spread(samples.updateMs)),
    percent(samples.waitShare),
    flagsText,
  ];
  return edit === "one-flag"
    ? [[...head, "first document", digits(samples.firstMs), "", flagsText], updates]
    : [updates];
}

function largeHeap(): ImageEntrypoint {
  const { nodeFlags, environment } = agentSettings();
  const others = nodeFlags.filter((flag) => !flag.startsWith("--max-old-space-size"));
  return { nodeFlags: [...others, "--max-old-space-size=128"], environment };
}
