/** Gradient boosting of small regression trees on binned features: enough for a few hundred thousand blocks. */

/** Blocks to learn from. Features are stored column by column, as numbers of bins. */
export interface BinnedRows {
	readonly rows: number;
	readonly columns: readonly Uint8Array[];
	/** The upper edge of each bin but the last, by column. */
	readonly edges: readonly (readonly number[])[];
}

export interface BoostingOptions {
	readonly trees: number;
	readonly leaves: number;
	readonly rate: number;
	/** L2 penalty of leaf values. */
	readonly penalty: number;
	readonly minWeight: number;
	readonly rowShare: number;
	readonly columnShare: number;
	readonly seed: number;
}

export interface Boosted {
	readonly bias: number;
	readonly trees: number[][];
}

const BINS = 64;

/** Sorts values into at most 64 bins of equal size. */
export function binRows(values: readonly ArrayLike<number>[], featureCount: number): BinnedRows {
	const columns: Uint8Array[] = [];
	const edges: number[][] = [];
	for (let f = 0; f < featureCount; f++) {
		const step = Math.max(1, Math.floor(values.length / 20_000));
		const sample: number[] = [];
		for (let i = 0; i < values.length; i += step) sample.push(values[i]?.[f] as number);
		sample.sort((a, b) => a - b);
		const cuts: number[] = [];
		const distinct = [...new Set(sample)];
		for (let b = 1; b < BINS; b++) {
			const cut =
				distinct.length <= BINS ? distinct[b - 1] : sample[Math.floor((b * sample.length) / BINS)];
			const rounded = Number((cut as number)?.toPrecision(5));
			if (cut !== undefined && !(rounded <= (cuts.at(-1) ?? Number.NEGATIVE_INFINITY)))
				cuts.push(rounded);
		}
		const column = new Uint8Array(values.length);
		for (let i = 0; i < values.length; i++) column[i] = binOf(values[i]?.[f] as number, cuts);
		columns.push(column);
		edges.push(cuts);
	}
	return { rows: values.length, columns, edges };
}

/** The number of edges below the value, so that `value > edges[b]` means a bin above `b`. */
function binOf(value: number, edges: readonly number[]): number {
	let [low, high] = [0, edges.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (value > (edges[middle] as number)) low = middle + 1;
		else high = middle;
	}
	return low;
}

export function boost(
	data: BinnedRows,
	labels: ArrayLike<number>,
	weights: ArrayLike<number>,
	options: BoostingOptions,
): Boosted {
	const { rows } = data;
	const random = generator(options.seed);
	let [positive, total] = [0, 0];
	for (let i = 0; i < rows; i++) {
		positive += (labels[i] as number) * (weights[i] as number);
		total += weights[i] as number;
	}
	const bias = Math.log(positive / (total - positive));
	const margins = new Float64Array(rows).fill(bias);
	const gradients = new Float64Array(rows);
	const hessians = new Float64Array(rows);
	const trees: number[][] = [];
	for (let round = 0; round < options.trees; round++) {
		for (let i = 0; i < rows; i++) {
			const p = 1 / (1 + Math.exp(-(margins[i] as number)));
			const w = weights[i] as number;
			gradients[i] = w * (p - (labels[i] as number));
			hessians[i] = w * Math.max(p * (1 - p), 1e-6);
		}
		const picked = new Uint32Array(rows);
		let size = 0;
		for (let i = 0; i < rows; i++) if (random() < options.rowShare) picked[size++] = i;
		const columns = data.columns.flatMap((_, f) => (random() < options.columnShare ? [f] : []));
		const root = grow(data, picked.subarray(0, size), columns, { gradients, hessians }, options);
		for (let i = 0; i < rows; i++) margins[i] = (margins[i] as number) + leafValue(root, data, i);
		trees.push(flatten(root, data));
	}
	return { bias, trees };
}

interface Branch {
	rows: Uint32Array;
	value: number;
	gradient: number;
	hessian: number;
	split?: { feature: number; bin: number; gain: number } | undefined;
	below?: Branch;
	above?: Branch;
}

function grow(
	data: BinnedRows,
	rows: Uint32Array,
	columns: readonly number[],
	slopes: { gradients: Float64Array; hessians: Float64Array },
	options: BoostingOptions,
): Branch {
	const make = (some: Uint32Array): Branch => {
		let [gradient, hessian] = [0, 0];
		for (const i of some) {
			gradient += slopes.gradients[i] as number;
			hessian += slopes.hessians[i] as number;
		}
		const branch: Branch = {
			rows: some,
			gradient,
			hessian,
			value: (-options.rate * gradient) / (hessian + options.penalty),
		};
		branch.split = bestSplit(data, branch, columns, slopes, options);
		return branch;
	};
	const root = make(rows);
	const leaves = [root];
	while (leaves.length < options.leaves) {
		let best: Branch | undefined;
		for (const leaf of leaves) {
			if (leaf.split && leaf.split.gain > (best?.split?.gain ?? 1e-3)) best = leaf;
		}
		if (!best?.split) break;
		const { feature, bin } = best.split;
		const column = data.columns[feature] as Uint8Array;
		const isAbove = (i: number) => (column[i] as number) > bin;
		best.below = make(best.rows.filter((i) => !isAbove(i)));
		best.above = make(best.rows.filter(isAbove));
		leaves.splice(leaves.indexOf(best), 1, best.below, best.above);
	}
	return root;
}

function bestSplit(
	data: BinnedRows,
	{ rows, gradient, hessian }: Branch,
	columns: readonly number[],
	{ gradients, hessians }: { gradients: Float64Array; hessians: Float64Array },
	{ penalty, minWeight }: BoostingOptions,
): Branch["split"] {
	if (hessian < 2 * minWeight) return undefined;
	let best: Branch["split"];
	const g = new Float64Array(BINS);
	const h = new Float64Array(BINS);
	const whole = gradient ** 2 / (hessian + penalty);
	for (const feature of columns) {
		const column = data.columns[feature] as Uint8Array;
		g.fill(0);
		h.fill(0);
		for (let k = 0; k < rows.length; k++) {
			const i = rows[k] as number;
			const bin = column[i] as number;
			g[bin] = (g[bin] as number) + (gradients[i] as number);
			h[bin] = (h[bin] as number) + (hessians[i] as number);
		}
		let [gb, hb] = [0, 0];
		for (let bin = 0; bin < BINS - 1; bin++) {
			gb += g[bin] as number;
			hb += h[bin] as number;
			if (hb < minWeight) continue;
			if (hessian - hb < minWeight) break;
			const gain =
				gb ** 2 / (hb + penalty) + (gradient - gb) ** 2 / (hessian - hb + penalty) - whole;
			if (gain > (best?.gain ?? 0)) best = { feature, bin, gain };
		}
	}
	return best;
}

function leafValue(root: Branch, data: BinnedRows, row: number): number {
	let at = root;
	while (at.split && at.below && at.above) {
		at = (data.columns[at.split.feature]?.[row] as number) > at.split.bin ? at.above : at.below;
	}
	return at.value;
}

function flatten(root: Branch, { edges }: BinnedRows): number[] {
	const out: number[] = [];
	const add = (branch: Branch): void => {
		const { split, below, above } = branch;
		if (!split || !below || !above) {
			out.push(-1, Number(branch.value.toFixed(3)));
			return;
		}
		const at = out.length;
		out.push(split.feature, edges[split.feature]?.[split.bin] as number, 0);
		add(below);
		out[at + 2] = out.length;
		add(above);
	};
	add(root);
	return out;
}

/** Numbers in [0, 1) that are the same in every run. */
export function generator(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}
