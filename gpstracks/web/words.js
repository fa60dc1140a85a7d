// What the modules of the layer share.
/** @import { MakeElement } from './types.d.ts' */

/** @param {number} m metres */
export const distance = m => (m < 1000 ? `${m} m` : `${(m / 1000).toFixed(1)} km`)

/** @type {MakeElement} */
export function element(tag, values, ...children) {
	const e = Object.assign(document.createElement(tag), values)
	e.append(...children)
	return e
}

/** @param {string} words @param {(e: any) => void} onclick @param {object} [more] */
export const button = (words, onclick, more) => element('button', { type: 'button', onclick, ...more }, words)
