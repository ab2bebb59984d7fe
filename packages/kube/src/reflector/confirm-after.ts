/**
 * Time after which a read may confirm a deletion, in ms. When a CRD is deleted, its objects are sent as deleted one by one,
 * and for about a second the type still answers reads with an empty list.
 */
export const confirmAfterMs = 3_000;
