/** An object as it should be: what is applied, complete but for what other managers own. */
export interface DesiredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: DesiredMetadata;
  readonly [field: string]: unknown;
}

export interface DesiredMetadata {
  readonly name: string;
  /** Absent for types that are not namespaced. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly unknown[];
}
