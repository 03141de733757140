// From the text in the page back to numbers: base 64, deflate, bytes grouped by significance.

async function unpackedBytes(id, width) {
  const packed = bytesOf(document.getElementById(id).textContent.trim());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const shuffled = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = shuffled.length / width;
  const bytes = new Uint8Array(shuffled.length);
  for (let b = 0; b < width; b++) {
    for (let i = 0, from = b * count; i < count; i++) bytes[i * width + b] = shuffled[from + i];
  }
  return bytes.buffer;
}

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// Arrays by their positions, as the document refers to them. Browsers run on little-endian machines only.
class Arrays {
  static async ofPage() {
    const [doubles, cells] = await Promise.all([unpackedBytes("doubles", 8), unpackedBytes("cells", 4)]);
    return new Arrays(new Float64Array(doubles), new Uint32Array(cells));
  }

  constructor(doubles, cells) {
    this.values = doubles;
    this.steps = cells;
  }

  doubles([start, count]) {
    return this.values.subarray(start, start + count);
  }

  // A matrix as its rows.
  rows(place, count) {
    const all = this.doubles(place), width = all.length / count;
    return Array.from({ length: count }, (_, i) => all.subarray(i * width, (i + 1) * width));
  }

  // The integers of a factor, levels by components, from their differences along the levels.
  cells(start, levels, components) {
    const found = new Int32Array(levels * components);
    for (let i = 0; i < found.length; i++) {
      const step = this.steps[start + i];
      found[i] = (step >>> 1) ^ -(step & 1);
      if (i >= components) found[i] += found[i - components];
    }
    return found;
  }
}
