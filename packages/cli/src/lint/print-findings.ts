import { printableLine } from "../terminal/escaped-controls.js";
import type { Io } from "../terminal/io.js";
import type { FileFinding } from "./file-finding.js";

/** One line for each finding, as compilers write them: editors and people find the place. */
export function printFindings(findings: readonly FileFinding[], { colours, print }: Io): void {
  for (const { file, line, column, severity, kind, message } of findings) {
    const paint = { error: colours.red, warning: colours.yellow, remark: colours.dim }[severity];
    print(
      `${colours.bold(`${printableLine(file)}:${line}:${column}:`)} ${paint(severity)}: ${printableLine(message)} ${colours.dim(`[${kind}]`)}`,
    );
  }
}

/** The commands that GitHub Actions reads from the log of a step. */
export function printAnnotations(findings: readonly FileFinding[], { print }: Io): void {
  for (const { file, line, column, severity, kind, message } of findings) {
    const place = `file=${property(file)},line=${line},col=${column},title=${property(`bunting lint: ${kind}`)}`;
    print(`::${severity === "remark" ? "notice" : severity} ${place}::${data(message)}`);
  }
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
