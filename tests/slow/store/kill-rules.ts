/** Returns how many chunks a document of this version has. Both the writer and the check use it. */
export function chunkCountOf(version: number): number {
  return (version % 7) + 1
}
