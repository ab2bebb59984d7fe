import type { Registry } from "prom-client";

/** What prom-client calls a value of a metric: one line of the text. */
export interface Sample {
  readonly metricName?: string;
  readonly labels?: Readonly<Record<string, string | number>>;
  /** Labels that several samples have in common; the lines show them last. */
  readonly sharedLabels?: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** What prom-client reads of a metric: with `getForPromString` if there is one, else with `get`. Its types lack both. */
export interface Reading {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values?: Iterable<Sample>;
}

interface Readable {
  getForPromString?(): Promise<Reading>;
  get(): Promise<Reading>;
}

const sliceCharacters = 16 * 1024;

/**
 * The same text as `registry.metrics()`, in slices outside of V8's heap. prom-client keeps an object and several strings for each line until
 * the last one is written: as much as a small heap has.
 */
export async function metricsText(registry: Registry): Promise<Buffer[]> {
  const slices: Buffer[] = [];
  let text = "";
  const metrics = registry.getMetricsAsArray() as unknown as readonly Readable[];
  for (const [index, metric] of metrics.entries()) {
    const { name, help, type, values = [] } = await (metric.getForPromString?.() ?? metric.get());
    text += `${index === 0 ? "" : "\n\n"}# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}`;
    let shared: Sample["sharedLabels"];
    let sharedText = "";
    for (const sample of values) {
      if (sample.sharedLabels !== shared) {
        shared = sample.sharedLabels;
        sharedText = labelsText(shared);
      }
      const own = labelsText(sample.labels);
      const labels = own === "" || sharedText === "" ? own + sharedText : `${own},${sharedText}`;
      text += `\n${sample.metricName ?? name}${labels === "" ? "" : `{${labels}}`} ${valueText(sample.value)}`;
      if (text.length < sliceCharacters) continue;
      slices.push(Buffer.from(text));
      text = "";
    }
  }
  slices.push(Buffer.from(`${text}\n`));
  return slices;
}

function labelsText(labels: Sample["labels"]): string {
  let text = "";
  for (const name in labels) {
    const value = labels[name] ?? "";
    text += `${text === "" ? "" : ","}${name}="${typeof value === "string" ? escaped(value).replaceAll('"', '\\"') : value}"`;
  }
  return text;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** As prom-client writes it. */
function valueText(value: number): string {
  if (Number.isNaN(value)) return "Nan";
  if (Number.isFinite(value)) return String(value);
  return value < 0 ? "-Inf" : "+Inf";
}
