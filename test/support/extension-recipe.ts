import { readFileSync } from "node:fs";
import path from "node:path";
import type { ExtensionHook, ExtensionTarget } from "@bunting/extension";
import { parse, parseAllDocuments } from "yaml";
import { repository } from "./markdown-pages.js";

export const recipesFolder = path.join(repository, "examples/extensions");

/** The recipes of examples/extensions that are applied to a cluster: their folders. */
export const recipeNames = [
  "site-annotations",
  "qos",
  "log-shipper",
  "optional-metrics",
  "default-annotation",
  "monitoring",
  "owner",
  "fiaas",
] as const;
export type RecipeName = (typeof recipeNames)[number];

export interface ExtensionManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly hooks: readonly ExtensionHook[];
    readonly objects: readonly ExtensionTarget[];
    readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
    readonly mutates?: readonly string[];
  };
}

/** What a recipe's Deployment runs. */
export interface RecipeProgram {
  readonly program: string;
  /** With paths of files in the recipe's folder in place of those in its container. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Recipe extends RecipeProgram {
  readonly extension: ExtensionManifest;
  readonly deployment: Workload;
  readonly service: Workload;
  readonly kustomization: {
    readonly resources: readonly string[];
    readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
  };
}

interface Workload {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface RecipeContainer {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

export function readRecipe(name: RecipeName): Recipe {
  const text = (file: string): string => readFileSync(path.join(recipesFolder, name, file), "utf8");
  const [deployment, service] = parseAllDocuments(text("workload.yaml")).map(
    (each) => each.toJS() as Workload,
  );
  if (deployment === undefined || service === undefined) throw new Error(`${name} has no workload`);
  const template = deployment.spec["template"] as {
    readonly spec: { readonly containers: readonly RecipeContainer[] };
  };
  const [container] = template.spec.containers;
  const files = (value: string): string =>
    value.replace(/^\/configuration\//, `${path.join(recipesFolder, name)}/`);
  return {
    extension: parse(text("extension.yaml")) as ExtensionManifest,
    kustomization: parse(text("kustomization.yaml")) as Recipe["kustomization"],
    deployment,
    service,
    program: container?.args[0] ?? "",
    env: Object.fromEntries((container?.env ?? []).map(({ name: key, value }) => [key, files(value)])),
  };
}
