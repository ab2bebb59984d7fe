import type { InvalidReason, WarningKind } from "../manifest/object-reading.js";
import type { FindingKind } from "./finding.js";

export const kindOfError: Readonly<Record<InvalidReason, FindingKind>> = {
  empty: "unreadable",
  encoding: "unreadable",
  too_large: "unreadable",
  syntax: "syntax",
  manifest: "manifest",
  document: "document",
  duplicate: "duplicate",
};

export const kindOfWarning: Readonly<Record<WarningKind, FindingKind>> = {
  yaml_1_1: "yaml-1.1",
  stripped_metadata: "stripped-metadata",
  other: "document",
};
