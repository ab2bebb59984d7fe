import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { repository } from "../support/markdown-pages.js";

const read = (page: string): string => readFileSync(path.join(repository, "docs", page), "utf8");

/** The defaults of the options that name a port, of a page that is generated from the options. */
function portsOf(service: string, options: readonly string[]): readonly string[] {
  const page = read(`reference/${service}-options.md`);
  return options.map((option) => {
    const line = page
      .split("\n")
      .find((each) => each.startsWith(`| \`--${option}\`,`) || each.startsWith(`| \`--${option}\` `));
    return (
      /:?(\d+)/.exec(line?.split(" | ")[2] ?? "")?.[1] ?? expect.fail(`the default of ${service} --${option}`)
    );
  });
}

describe("the page that says which ports there are", () => {
  it("names those on which each part listens by default, and no others", () => {
    const section = /^## Ports$([^]*?)^## /m.exec(read("operate/security.md"))?.[1] ?? "";
    const named = new Map<string, string[]>();
    for (const [, part = "", port = "", who = ""] of section.matchAll(
      /^\| (?:an|the) (\w+) +\| (\d+) \|([^|]*)\|/gm,
    ))
      named.set(part, [...(named.get(part) ?? []), port, ...[...who.matchAll(/\b8\d{3}\b/g)].map(String)]);
    expect([...named.keys()]).to.have.members(["proxy", "agent", "operator"]);
    expect(named.get("proxy")).to.have.members(portsOf("proxy", ["port", "management-port"]));
    const ofAgent = ["port", "management-port", "sync-port", "ofrep-port"];
    expect(named.get("agent")).to.have.members(portsOf("agent", ofAgent));
    const ofOperator = ["webhook-port", "health-probe-bind-address", "metrics-bind-address"];
    expect(named.get("operator")).to.have.members(portsOf("operator", ofOperator));
  });
});
