import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./chart.js";
import { runTool } from "./tool.js";

/** The commands of README.md's section about installing, by what they begin to install: a block of lines for each. */
export function readmeInstallation(): { readonly chart: string; readonly operator: string } {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const [, section = ""] = /^## Install it in a cluster\n(.*?)^## /ms.exec(readme) ?? [];
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text);
  const [chart, operator, more] = blocks;
  if (chart === undefined || operator === undefined || more !== undefined)
    throw new Error("README.md does not have two ways to install");
  return { chart, operator };
}

/** The blocks of a language in a section of a page, without the indentation of the lists that they stand in. */
export function documentedBlocks(page: string, title: string, language: "sh" | "yaml"): readonly string[] {
  const text = readFileSync(path.join(root, page), "utf8");
  const [, section = ""] = text.split(`\n## ${title}\n`);
  const [own = ""] = section.split("\n## ");
  const blocks = own.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, "gms"));
  return [...blocks].map(([, indent = "", block = ""]) =>
    block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}

/**
 * Runs lines as a user's shell does, in the root of the repository, and fails with the first that fails.
 *
 * @param programs directories with helm and kubectl
 */
export async function runAsPrinted(
  lines: string,
  {
    kubeconfig,
    home,
    programs,
  }: { readonly kubeconfig: string; readonly home: string; readonly programs: readonly string[] },
): Promise<string> {
  const env = { PATH: [...programs, process.env["PATH"]].join(":"), HOME: home, KUBECONFIG: kubeconfig };
  const { code, stdout, stderr } = await runTool("bash", ["--norc", "-ec", `cd '${root}'\n${lines}`], {
    env,
  });
  if (code !== 0) throw new Error(`${lines}\nended with ${code}: ${stdout}${stderr}`);
  return stdout;
}
