use super::*;
use crate::apis::index::Pin;

fn pins(path: &str, text: &str) -> Vec<String> {
    let (reader, is_weak) = reader(path).unwrap();
    let mut pins = Pins::default();
    reader(text, &mut Notes { pins: &mut pins, base: Path::new(""), file: path, is_weak });
    let packages =
        ["torch", "torchvision", "tensorflow", "keras", "numpy", "pytorch_lightning", "jax", "python"];
    packages.iter().flat_map(|package| pins.all(package)).map(Pin::cited).collect()
}

#[test]
fn lists_of_requirements() {
    assert_eq!(pins("requirements.txt", "numpy\ntorch==1.4  # old\n"), ["`torch==1.4` (requirements.txt:2)"]);
    assert_eq!(
        pins("requirements/dev.in", "torch==1.4 --hash=x\n"),
        ["`torch==1.4` (requirements/dev.in:1)"]
    );
    assert!(reader("notes.txt").is_none());
}

#[test]
fn projects() {
    let project =
        "[project]\ndependencies = [\n  'torch>=1.8',\n]\n[tool.poetry.dependencies]\nkeras = '^2.3'\n";
    assert_eq!(
        pins("pyproject.toml", project),
        ["`torch>=1.8` (pyproject.toml:3)", "`keras>=2.3` (pyproject.toml:6)"]
    );
    let setup = "setup(install_requires=['numpy', 'torch>=1.2'],  # 'torch>=9'\n extras_require={'jax': ['jax==0.3.1']})";
    assert_eq!(pins("setup.py", setup), ["`torch>=1.2` (setup.py:1)"]);
    let cfg = "[options]\ninstall_requires =\n    torch==1.3\n[other]\nx = 1\n";
    assert_eq!(pins("setup.cfg", cfg), ["`torch==1.3` (setup.cfg:3)"]);
}

#[test]
fn locks() {
    let lock =
        "[[package]]\nname = \"torch\"\nversion = \"1.9.1\"\n[[package]]\nname = \"x\"\nversion = \"1\"\n";
    assert_eq!(pins("poetry.lock", lock), ["`torch==1.9.1` (poetry.lock:3)"]);
    let lock = "{\n \"default\": {\n  \"torch\": {\n   \"version\": \"==1.4.0\"\n  }\n }\n}\n";
    assert_eq!(pins("Pipfile.lock", lock), ["`torch==1.4.0` (Pipfile.lock:4)"]);
}

#[test]
fn environments() {
    let text = "dependencies:\n  - pytorch=1.4.0=py3.7_cuda\n  - pytorch::torchvision=0.5\n  - pip:\n    - keras==2.2.4\n";
    let found = ["`pytorch==1.4.0.*` (environment.yml:2)", "`torchvision==0.5.*` (environment.yml:3)"];
    assert_eq!(pins("environment.yml", text), [&found[..], &["`keras==2.2.4` (environment.yml:5)"]].concat());
}

#[test]
fn images_and_commands() {
    let text = "FROM pytorch/pytorch:1.7.1-cuda11.0-cudnn8-devel\nRUN apt-get update && \\\n  pip install 'numpy<1.20' \\\n  keras==2.3.1 && echo\n";
    let found = ["`torch==1.7.1` (docker/Dockerfile:1)", "`keras==2.3.1` (docker/Dockerfile:4)"];
    assert_eq!(pins("docker/Dockerfile", text), [found[0], found[1], "`numpy<1.20` (docker/Dockerfile:3)"]);
    assert!(pins("Dockerfile", "FROM tensorflow/tensorflow:latest-gpu\n").is_empty());
}

#[test]
fn cells_of_notebooks() {
    let mut pins = Pins::default();
    let text = "{\"source\": [\n  \"%tensorflow_version 1.x\\n\",\n  \"!pip install -q keras==2.2.4\\n\",\n  \"x = 'pip install keras==1'\"]}";
    commands::cells(
        text,
        &mut Notes { pins: &mut pins, base: Path::new(""), file: "a.ipynb", is_weak: false },
    );
    assert_eq!(pins.all("tensorflow")[0].cited(), "`tensorflow==1.*` (a.ipynb:2)");
    assert_eq!(pins.all("keras").len(), 1);
}

#[test]
fn pages_for_people() {
    let told = |text: &str| pins("README.md", text);
    assert_eq!(told("Needs PyTorch 1.4 and Keras."), ["`torch==1.4.*` (README.md:1)"]);
    assert_eq!(told("* [PyTorch](http://x.y/1.9) >= 0.4.1"), ["`torch>=0.4.1` (README.md:1)"]);
    assert_eq!(told("tensorflow-gpu (version 1.15.0)"), ["`tensorflow==1.15.0.*` (README.md:1)"]);
    assert_eq!(told("PyTorch-Lightning 1.2+"), ["`pytorch-lightning>=1.2` (README.md:1)"]);
    assert_eq!(told("Python 3.6+ and numpy"), ["`python>=3.6` (README.md:1)"]);
    assert_eq!(told("conda create -n a python=3.7"), ["`python==3.7.*` (README.md:1)"]);
    assert!(told("python train.py --lr 0.1; python -m x 3.4").is_empty());
    assert!(told("pytorch/vision 1.4, torch and 3.7, PyTorch 2 is fine, mytorch 1.2").is_empty());
}
