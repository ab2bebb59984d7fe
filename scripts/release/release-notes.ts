/**
 * The notes of a version: its section of the changelog, without the heading. With `isFinal`, the heading must have the day of the release.
 *
 * @throws Error with a sentence if there is no such section, or it is not ready
 */
export function releaseNotes(changelog: string, version: string, isFinal = false): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.split(/\s/, 1)[0] === version);
  if (section === undefined)
    throw new Error(`CHANGELOG.md has no section "## ${version}": write what is new in it`);
  const [heading = "", ...lines] = section.split("\n");
  if (isFinal && !/ — \d{4}-\d\d-\d\d$/.test(heading))
    throw new Error(
      `CHANGELOG.md says "## ${heading}": put the day of the release there, as in "## ${version} — 2026-12-31"`,
    );
  const notes = lines.join("\n").trim();
  if (notes === "")
    throw new Error(`the section "## ${version}" of CHANGELOG.md is empty: write what is new in it`);
  return `${notes}\n`;
}
