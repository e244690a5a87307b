declare module '@mixmark-io/domino' {
  /** Parses HTML as the standard and browsers do. */
  export function createDocument(html: string, force: boolean): Document
}
