/**
 * Something to know before a migration.
 *
 * - blocks: the migration would fail, or lose something that works.
 * - warns: something changes.
 * - tells: a fact that the migration needs.
 */
export interface MigrationFinding {
  readonly severity: "blocks" | "warns" | "tells";
  /** The object that the finding is about: `FeatureFlag shop/checkout`. */
  readonly object: string;
  readonly message: string;
}
