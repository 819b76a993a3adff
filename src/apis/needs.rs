//! What a call needs of the shapes that it is given: where they do not fit, the framework raises an error.

use super::words::vocabulary;

vocabulary! {
    /// What has to hold of shapes and sizes, sorted by name.
    Need "need"
    classes {}
    Array "array" (X; Y)
        "NumPy can read these, and each tensor in a list of them: it requires no grad, and is not on a GPU";
    ArrayItems "array-items" (X) "the same of the tensors in a list; a tensor by itself is asked for its own method";
    Axes "axes" (X; Dims) "each axis of x once, in any order";
    Axis "axis" (X Dim) "the axis, or each of these, is one of x";
    Broadcast "broadcast" (X Y; Y) "sizes are the same, or one of them is 1, from the last axis on";
    Channels "channels" (X N Rank) "x is [N, C, …] or [C, …] with so many spatial axes, and C is n";
    Count "count" (X; Sizes) "the sizes, of which one may be -1, hold as many numbers as x";
    CountEach "count-each" (X; Sizes)
        "the sizes, of which one may be -1, hold as many numbers as each row of x";
    Dense "dense" (X; Sizes)
        "the dimensions of x that become one of these sizes follow each other in memory as they are counted";
    Expand "expand" (X; Sizes) "an axis of x is 1, or as long as it is to be";
    Features "features" (X N) "the second size of x is n";
    Join "join" (Tensors Dim) "all have the same sizes but along the axis";
    Last "last" (X N) "the last size of x is n";
    Meet "meet" (Tensors) "sizes of those that have as many axes are the same, or one of them is 1";
    Multiple "multiple" (N P) "n is a multiple of p";
    Numbers "numbers" (X) "each tensor in a list, and in lists of it, holds one number";
    OnCpu "on-cpu" (X) "x is on the CPU, wherever the rest is";
    PerChannel "per-channel" (X; Y)
        "each of these sequences has one number, or one for each channel of x, the third size from the end";
    Product "product" (X Y; Flag)
        "the last size of x is the last but one of y, and the axes before them broadcast; by turns flags say which of them is transposed first";
    Rank "rank" (X; Rank) "x has so many axes, or one of these numbers";
    Stack "stack" (Tensors) "all have the same sizes";
    State "state" (X Inputs HiddenSize NumLayers Bidirectional BatchFirst)
        "x, or each of a pair, is [layers and directions, batch, hidden size] for such inputs";
    Together "together" (X; Y) "all tensors of these are on one device; numbers on the CPU may meet any";
    Trailing "trailing" (X Shape) "the last sizes of x are these";
    Weight "weight" (X Weight) "the last size of x is the last of the weight";
    Window "window" (X) "the window that the transfer slides over x is no larger than x and its padding";
}
