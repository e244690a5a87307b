/** File extensions of source code, by language. The names are those used in Markdown fences. */
const ENDINGS: Readonly<Record<string, string>> = {
  ada: 'ada adb ads',
  applescript: 'applescript scpt',
  asm: 'asm s nasm',
  awk: 'awk',
  bash: 'sh bash zsh ksh',
  basic: 'bas vb vbs',
  c: 'c h',
  clojure: 'clj cljs cljc edn',
  cmake: 'cmake',
  cobol: 'cob cbl',
  cpp: 'cpp cc cxx hpp hh hxx ino',
  crystal: 'cr',
  csharp: 'cs csx',
  css: 'css scss sass less',
  cuda: 'cu cuh',
  d: 'd',
  dart: 'dart',
  diff: 'diff patch',
  dockerfile: 'dockerfile',
  elixir: 'ex exs',
  elm: 'elm',
  erlang: 'erl hrl',
  fortran: 'f f77 f90 f95 f03 for',
  fsharp: 'fs fsx fsi',
  gdscript: 'gd',
  go: 'go',
  graphql: 'graphql gql',
  groovy: 'groovy gradle',
  haskell: 'hs lhs',
  hcl: 'hcl tf tfvars tofu',
  ini: 'ini cfg conf properties editorconfig',
  java: 'java',
  javascript: 'js mjs cjs jsx',
  json: 'json5 jsonc',
  julia: 'jl',
  kotlin: 'kt kts',
  lisp: 'lisp lsp cl el',
  lua: 'lua',
  makefile: 'mk mak',
  matlab: 'mlx',
  nim: 'nim',
  nix: 'nix',
  objectivec: 'm mm',
  ocaml: 'ml mli',
  pascal: 'pas pp dpr',
  perl: 'pl pm pod',
  php: 'php phtml',
  powershell: 'ps1 psm1 psd1',
  prolog: 'pro',
  protobuf: 'proto',
  python: 'py pyi pyx pyw',
  r: 'r',
  racket: 'rkt',
  ruby: 'rb rake gemspec',
  rust: 'rs',
  scala: 'scala sc sbt',
  scheme: 'scm ss',
  solidity: 'sol',
  sql: 'sql ddl psql',
  svelte: 'svelte',
  swift: 'swift',
  tcl: 'tcl',
  toml: 'toml',
  typescript: 'ts mts cts tsx',
  verilog: 'v sv svh',
  vhdl: 'vhd vhdl',
  vim: 'vim',
  vue: 'vue',
  wasm: 'wat wast',
  batch: 'bat cmd',
  yaml: 'yaml yml',
  zig: 'zig',
}

const LANGUAGES = byWord(ENDINGS)

/** Files with conventional names instead of an extension. */
const LANGUAGE_NAMES = byWord({
  makefile: 'makefile gnumakefile',
  dockerfile: 'dockerfile containerfile',
  ruby: 'rakefile gemfile vagrantfile',
  cmake: 'cmakelists.txt',
  groovy: 'jenkinsfile',
  python: 'build.bazel',
})

/** Programs after `#!` that have another name than their language. */
const INTERPRETERS = byWord({
  bash: 'sh zsh ksh dash',
  javascript: 'node',
  typescript: 'bun deno',
  r: 'rscript',
  tcl: 'tclsh wish',
  powershell: 'pwsh',
  haskell: 'runghc',
})

export function languageOfName(name: string): string | null {
  const lower = name.toLowerCase()
  const ending = /\.([a-z0-9]{1,16})$/.exec(lower)?.[1] ?? ''
  return LANGUAGE_NAMES.get(lower) ?? LANGUAGES.get(ending) ?? null
}

/** Returns the language named by `#!` in the first line, or null. */
export function languageOfShebang(text: string): string | null {
  const line = /^#!([^\n]{1,200})/.exec(text)?.[1]
  if (line === undefined) return null
  const words = line.trim().split(/\s+/)
  const isEnv = /(^|\/)env$/.test(words[0] ?? '')
  const program = words.slice(isEnv ? 1 : 0).find((word) => !/^-|=/.test(word)) ?? ''
  const bare =
    program
      .split('/')
      .at(-1)
      ?.toLowerCase()
      .replace(/[\d.]+$/, '') ?? ''
  return INTERPRETERS.get(bare) ?? (Object.hasOwn(ENDINGS, bare) ? bare : 'text')
}

function byWord(wordsOf: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(wordsOf).flatMap(([language, words]) => {
      return words.split(' ').map((word) => [word, language] as const)
    }),
  )
}
