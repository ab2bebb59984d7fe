/** As RFC 6750 has tokens, and some more: printable, without white space. */
export const tokenSyntax = /^[\x21-\x7e]+$/;
