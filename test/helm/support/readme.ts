import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./chart.js";
import { runTool } from "./tool.js";

/** The commands of docs/start that install the chart, and that change the images of the open-feature-operator. */
export function startInstallation(): { readonly chart: string; readonly operator: string } {
  const [chart, ...others] = documentedBlocks("docs/start/without-operator.md", "Install the proxy", "sh");
  const [operator] = documentedBlocks("docs/start/open-feature-operator.md", "Change the images", "sh");
  if (chart === undefined || operator === undefined || others.length > 0)
    throw new Error("docs/start does not have two ways to install");
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
 * Runs lines as a user's shell does, with helm and kubectl, in the root of the repository, and fails with the first that fails.
 *
 * @param programs directories with further programs, which win over others of the same names
 */
export async function runAsPrinted(
  lines: string,
  {
    kubeconfig,
    home,
    programs = [],
  }: { readonly kubeconfig: string; readonly home: string; readonly programs?: readonly string[] },
): Promise<string> {
  const { BUNTING_HELM = "", BUNTING_CLUSTER_BIN = "", PATH } = process.env;
  const folders = [...programs, path.dirname(BUNTING_HELM), BUNTING_CLUSTER_BIN, PATH];
  const env = { PATH: folders.join(":"), HOME: home, KUBECONFIG: kubeconfig };
  const { code, stdout, stderr } = await runTool("bash", ["--norc", "-ec", `cd '${root}'\n${lines}`], {
    env,
  });
  if (code !== 0) throw new Error(`${lines}\nended with ${code}: ${stdout}${stderr}`);
  return stdout;
}
