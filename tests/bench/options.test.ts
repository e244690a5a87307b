import { expect, test } from 'bun:test'
import { join } from 'node:path'

const BENCH = join(import.meta.dir, '..', '..', 'bench', 'main.ts')

test('the bench lists its options and scenarios, and names an option that it does not have', async () => {
  const [help, wrong] = await Promise.all([run('--help'), run('--fast')])
  expect(help.code).toBe(0)
  expect(help.output).toContain('--against <folder>')
  expect(help.output).toContain('select-one')
  expect(wrong.code).toBe(2)
  expect(wrong.errors).toContain("'--fast'")
})

async function run(option: string) {
  const child = Bun.spawn([process.execPath, BENCH, option], { stdout: 'pipe', stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { output, errors, code }
}
