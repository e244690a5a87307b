/**
 * The style of code, with the tokens of `styles/design-tokens.css`, which also apply in the shadow
 * tree, light and dark.
 */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--series-7)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--series-4)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--series-2)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--series-3)' },
  { tag: [tags.special(tags.name)], color: 'var(--series-5)', fontWeight: '600' },
  { tag: [tags.propertyName], color: 'var(--accent)' },
])

const FRAME = EditorView.theme({
  '&': {
    color: 'var(--ink)',
    backgroundColor: 'var(--panel)',
    height: '100%',
    // If the parent sets both limits, the height follows the text within them.
    minHeight: 'var(--editor-least, 0)',
    maxHeight: 'var(--editor-most, none)',
    fontSize: '0.9rem',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.55',
    overflow: 'auto',
  },
  // Fills the frame, so that a click below the last line reaches the text in every browser.
  '.cm-content, .cm-gutters': { alignSelf: 'stretch' },
  '.cm-content': { caretColor: 'var(--ink)', outline: 'none', padding: '0.5rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)', borderLeftWidth: '2px' },
  '.cm-gutters': {
    backgroundColor: 'var(--panel)',
    color: 'var(--quiet)',
    border: 'none',
  },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--raised) 55%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { background: 'var(--accent-soft)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--mark)' },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-soft)',
    outline: '1px solid var(--accent)',
  },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)' },
  '.cm-parameter, .cm-parameter *': { color: 'var(--series-5)', fontWeight: '600' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad) 1.5px',
    textUnderlineOffset: '3px',
    backgroundColor: 'var(--bad-soft)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
    borderRadius: '0.4rem',
    boxShadow: 'var(--shadow)',
    zIndex: '20',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mono)',
    maxHeight: '16rem',
    maxWidth: 'min(36rem, 90vw)',
  },
  '.cm-tooltip-below': { marginTop: '4px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    padding: '0.15rem 0.6rem',
    minHeight: '24px',
    lineHeight: '1.6',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': {
    fontStyle: 'normal',
    opacity: '0.85',
    float: 'right',
    paddingInlineStart: '1.5em',
  },
  '.cm-tooltip.cm-completionInfo': {
    width: 'max-content',
    maxWidth: 'min(24rem, 40vw)',
    padding: '0.4rem 0.6rem',
    whiteSpace: 'pre-wrap',
  },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-textfield': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
  },
})

export const EDITOR_THEME: Extension = [FRAME, syntaxHighlighting(COLOURS)]
