//! Images of containers whose names say what is in them.

use crate::apis::builds::Release;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Image {
    /// As it is written.
    pub name: String,
    pub cuda: Option<Release>,
    /// The major version of cuDNN; `None` where it has none, or nobody knows.
    pub cudnn: Option<Release>,
    /// Whether the name says that there is no cuDNN.
    pub lacks_cudnn: bool,
    /// It has the libraries of CUDA, and no compiler.
    pub lacks_compiler: bool,
    /// It is made for GPUs; `None` where nobody knows.
    pub is_gpu: Option<bool>,
    /// The framework that is in it.
    pub carries: Option<(&'static str, Release)>,
    pub python: Option<Release>,
}

/// What the name of an image says.
pub(super) fn image(name: &str) -> Image {
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, ""),
    };
    let repository = repository.trim_start_matches("docker.io/").trim_start_matches("nvcr.io/");
    let mut image = Image { name: name.to_owned(), ..Image::default() };
    let parts: Vec<&str> = tag.split('-').collect();
    let after = |word: &str| parts.iter().find_map(|part| part.strip_prefix(word)).and_then(Release::parse);
    match repository {
        "nvidia/cuda" => {
            image.cuda = Release::parse(tag).filter(|cuda| cuda.says(2));
            image.is_gpu = Some(true);
            // `cudnn` without a number is the one of that release.
            image.cudnn = after("cudnn");
            image.lacks_cudnn = !tag.contains("cudnn") && !tag.is_empty();
            image.lacks_compiler = parts.iter().any(|part| matches!(*part, "base" | "runtime"));
        }
        "pytorch/pytorch" => {
            image.cuda = after("cuda");
            image.cudnn = after("cudnn");
            image.is_gpu = image.cuda.as_ref().map(|_| true);
            image.lacks_compiler = parts.contains(&"runtime");
            image.carries = Release::parse(tag).map(|release| ("torch", release));
        }
        "tensorflow/tensorflow" => {
            image.is_gpu = Some(parts.contains(&"gpu"));
            image.carries = Release::parse(tag).map(|release| ("tensorflow", release));
        }
        "python" | "library/python" => image.python = Release::parse(tag).filter(|python| python.says(2)),
        _ => {}
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_say_what_is_in_them() {
        let is = |name: &str| {
            let one = image(name);
            let text = |release: Option<Release>| release.map(|one| one.to_string()).unwrap_or_default();
            (text(one.cuda), text(one.cudnn), one.lacks_compiler, one.is_gpu)
        };
        let of = |cuda: &str, cudnn: &str, lacks_compiler, is_gpu| {
            (cuda.to_owned(), cudnn.to_owned(), lacks_compiler, is_gpu)
        };
        assert_eq!(is("nvidia/cuda:11.1.1-cudnn8-devel-ubuntu20.04"), of("11.1.1", "8", false, Some(true)));
        assert_eq!(is("nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04"), of("12.4.1", "", true, Some(true)));
        assert_eq!(is("pytorch/pytorch:1.7.1-cuda11.0-cudnn8-runtime"), of("11.0", "8", true, Some(true)));
        assert_eq!(is("tensorflow/tensorflow:2.4.1-gpu"), of("", "", false, Some(true)));
        assert_eq!(is("tensorflow/tensorflow:2.4.1"), of("", "", false, Some(false)));
        assert_eq!(is("localhost:5000/own/image"), of("", "", false, None));
        assert_eq!(image("python:3.12-slim").python.map(|one| one.to_string()), Some("3.12".into()));
        assert_eq!(image("pytorch/pytorch:latest").carries, None);
        assert!(
            image("nvidia/cuda:12.4.1-base").lacks_cudnn
                && !image("nvidia/cuda:12.9.1-cudnn-devel").lacks_cudnn
        );
    }
}
