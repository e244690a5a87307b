import type { Page } from 'playwright-core'

export interface SmallFile {
  readonly name: string
  readonly bytes: readonly number[]
}

/** Drops files on the page as if they came from a folder of the system. */
export async function drop(page: Page, files: readonly SmallFile[]): Promise<void> {
  const dataTransfer = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer()
    for (const { name, bytes } of all) transfer.items.add(new File([new Uint8Array(bytes)], name))
    return transfer
  }, files)
  await page.dispatchEvent('main', 'dragover', { dataTransfer })
  await page.getByText(/^Drop to add/).waitFor()
  await page.dispatchEvent('main', 'drop', { dataTransfer })
}
