import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** The suite of the open-feature-operator, in the sources that `npm run test:upstream` has fetched. */
export interface UpstreamSuite {
  /** Where its Makefile runs chainsaw. */
  readonly root: string;
  /** The folder of each test. */
  readonly tests: readonly string[];
  /** Every image that it names, as it does. */
  readonly images: readonly string[];
}

/** Undefined where it could not be fetched. */
export function upstreamSuite(): UpstreamSuite | undefined {
  const root = process.env["BUNTING_UPSTREAM_SUITE"];
  if (root === undefined) return undefined;
  const folder = path.join(root, "test/e2e/chainsaw");
  const folders = readdirSync(folder).map((name) => path.join(folder, name));
  const files = folders.flatMap((each) => readdirSync(each).map((name) => path.join(each, name)));
  const images = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^\s*image: (\S+)$/gm)].map(([, image = ""]) => image),
  );
  return {
    root,
    tests: folders
      .filter((each) => existsSync(path.join(each, "chainsaw-test.yaml")))
      .map((each) => path.basename(each)),
    images: [...new Set(images)],
  };
}

/** An image's name, as an image reference of Kubernetes: without the registry, which is Docker's unless it says otherwise. */
export function repositoryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  if (rest.length === 0) return `library/${image}`;
  return /[.:]/.test(first) ? rest.join("/") : image;
}
