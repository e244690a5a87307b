declare module '@mixmark-io/domino' {
  /** Parses as the HTML standard says, and as browsers do. */
  export function createDocument(html: string, force: boolean): Document
}
