/** A resource type: what URLs are made of. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** As in the URL: `featureflags`. */
  readonly plural: string;
}

/** What one list, watch or write is about. Names are checked by the caller (RFC 1123); the URL encodes them all the same. */
export interface ResourceScope {
  readonly type: ResourceType;
  /** Absent: every namespace, or a resource that has none. */
  readonly namespace?: string;
  /** Absent: every object of the namespace. In a list or watch it becomes the fieldSelector `metadata.name=`. */
  readonly name?: string;
}

/** An object as the API server sent it: only what every object has is typed. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}
