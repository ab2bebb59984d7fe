/** The most bytes of an object's JSON: etcd stores at most 1.5 MB, and escapes and managedFields may double that. */
export const maxItemBytes = 4 * 1024 * 1024;

/** A resource type, as it is named in URLs. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** As in the URL: `featureflags`. */
  readonly plural: string;
  /** True if its objects are of no namespace. */
  readonly isClusterScoped?: boolean;
}

/** The scope of one list, watch or write. The caller checks names (RFC 1123); they are URL-encoded all the same. */
export interface ResourceScope {
  readonly type: ResourceType;
  /** Absent: all namespaces, or a type that is not namespaced. */
  readonly namespace?: string;
  /** Absent: all objects of the namespace. In a list or watch it becomes the fieldSelector `metadata.name=`. */
  readonly name?: string;
  /** Only objects with these labels are listed and watched: `app=x,tier in (a,b)`, as `formatLabelSelector` writes it. */
  readonly labelSelector?: string;
  /** Lists and watches only the metadata of the objects, as PartialObjectMetadata. */
  readonly isMetadataOnly?: boolean;
}

/** One page of a LIST, without its objects. */
export interface ListPage {
  readonly resourceVersion: string;
  /** Set while there are more pages. */
  readonly continueToken: string | undefined;
  /** Number of objects, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** An object as the API server sent it; only the fields that every object has are typed. */
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
