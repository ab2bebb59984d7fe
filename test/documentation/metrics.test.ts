import { expect } from "chai";
import { markdownPages, readPage } from "../support/markdown-pages.js";

const references = ["proxy", "agent", "operator"].map((service) => `docs/reference/${service}-metrics.md`);

/** The labels of each metric, by its name, and the page's row of it. */
const metrics = new Map(
  references.flatMap((page) =>
    [...readPage(page).matchAll(/^\| `(bunting_\w+)` \| \w+ \| (.*?) \| .*$/gm)].map(
      ([row, name = "", labels = ""]) => [name, { row, labels }] as const,
    ),
  ),
);

interface Mention {
  readonly where: string;
  readonly name: string;
  readonly label: string | undefined;
  readonly value: string | undefined;
}

/** What pages say of metrics: a name, and maybe one label with its value. */
const mention = /`(bunting_(?:proxy|agent|operator)_\w*[a-z])(?:\{(\w+)(?:="(\w+)")?\})?`/g;

/** docs/operate/limits.md leaves out what all names of a section begin with. */
function withPrefixes(page: string): string {
  const text = readPage(page);
  if (page !== "docs/operate/limits.md") return text;
  const agent = text.indexOf("\n## The agent\n");
  const spell = (part: string, prefix: string): string =>
    part.replaceAll(
      /`((?:access|api|service|source|subscriber|topic)_[a-z_]*[a-z])(?=[{`])/g,
      `\`${prefix}$1`,
    );
  return spell(text.slice(0, agent), "bunting_proxy_") + spell(text.slice(agent), "bunting_agent_");
}

/** Whether there is such a metric, with such a label, and, as the rows of the proxy's metrics tell all reasons, with such a value. */
function isTrue({ name, label, value }: Mention): boolean {
  const metric = metrics.get(name);
  if (metric === undefined) return false;
  if (label === undefined) return true;
  const hasReason = value === undefined || new RegExp(`\\b${value}\\b`).test(metric.row);
  return (
    metric.labels.includes(`\`${label}\``) && (label !== "reason" || !name.includes("proxy") || hasReason)
  );
}

describe("what pages say of metrics", () => {
  it("names metrics that there are, with labels and values that they have", () => {
    const pages = ["README.md", ...markdownPages("docs")].filter((page) => !references.includes(page));
    const mentions = pages.flatMap((page) =>
      [...withPrefixes(page).matchAll(mention)].map(([text, name = "", label, value]): Mention => ({
        where: `${page}: ${text}`,
        name,
        label,
        value,
      })),
    );
    expect(mentions.filter((each) => !isTrue(each)).map(({ where }) => where)).to.deep.equal([]);
    expect(mentions.length).to.be.greaterThan(100);
  });
});
